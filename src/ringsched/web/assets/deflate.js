// Deflate (RFC 1951), at once: what browsers have built in answers later, when the page may be gone.

const [SHORTEST, LONGEST, FARTHEST] = [3, 258, 32768]; // of a stretch that was there before, and how far back
const MOST_TRIES = 24; // places that begin alike, the nearest first
const HASH_BITS = 15;
const [FIXED, END] = [1, 256]; // the kind of a block, and the letter after its last

/** Return bytes packed by the fixed codes of the format, as its end or as something that goes on; a browser's `deflate-raw` unpacks it. */
export function deflated(bytes, isEnd = true) {
  const { put, end } = bitsInto(bytes.length);
  const { find, pass } = repeats(bytes);
  put(isEnd ? 1 : 0, 1);
  put(FIXED, 2);
  for (let at = 0; at < bytes.length; ) {
    const [length, distance] = find(at);
    if (length) {
      putCoded(put, LENGTHS, length);
      putCoded(put, DISTANCES, distance);
    } else put(...LETTERS[bytes[at]]);
    for (const next = at + Math.max(1, length); at < next; at += 1) pass(at);
  }
  put(...LETTERS[END]);
  if (!isEnd) put(0, 3); // an empty block as it is: the next one begins with a byte
  return isEnd ? end() : new Uint8Array([...end(), 0, 0, 0xff, 0xff]);
}

/** Return `find`, the longest stretch before a place that is as from there on, and `pass`, by which a place becomes one to find. */
function repeats(bytes) {
  const newest = new Int32Array(1 << HASH_BITS).fill(-1);
  const before = new Int32Array(bytes.length);
  const hashAt = (at) => Math.imul((bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2], 0x9e3779b1) >>> (32 - HASH_BITS);
  const find = (at) => {
    const most = Math.min(LONGEST, bytes.length - at);
    let [best, distance] = [SHORTEST - 1, 0];
    if (most < SHORTEST) return [0, 0];
    let place = newest[hashAt(at)];
    for (let tries = 0; tries < MOST_TRIES && place >= 0 && at - place <= FARTHEST && best < most; tries += 1) {
      if (bytes[place + best] === bytes[at + best]) {
        let length = 0;
        while (length < most && bytes[place + length] === bytes[at + length]) length += 1;
        if (length > best) [best, distance] = [length, at - place];
      }
      place = before[place];
    }
    return distance ? [best, distance] : [0, 0];
  };
  const pass = (at) => {
    if (at + SHORTEST > bytes.length) return;
    const hash = hashAt(at);
    before[at] = newest[hash];
    newest[hash] = at;
  };
  return { find, pass };
}

/** Return `put`, which takes a number and of how many bits it is, and `end`, which returns all of them as bytes. */
function bitsInto(length) {
  const bytes = new Uint8Array(length + (length >> 3) + 4); // nothing has more than 9 bits for a letter
  let [full, kept, count] = [0, 0, 0];
  const put = (bits, width) => {
    kept |= bits << count;
    for (count += width; count >= 8; count -= 8) {
      bytes[full] = kept;
      full += 1;
      kept >>>= 8;
    }
  };
  const end = () => {
    put(0, 7); // what is left
    return bytes.subarray(0, full);
  };
  return { put, end };
}

/** Write a length or a distance: the code of the range that it is in, and where in the range. */
function putCoded(put, { codes, starts, extras }, value) {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= value) low = middle;
    else high = middle - 1;
  }
  put(...codes[low]);
  put(value - starts[low], extras[low]);
}

/** Return ranges of values: `each` by `each` of them are twice as wide as those before, but the second ones are like the first. */
function ranges(first, count, each, codes) {
  const extras = Array.from({ length: count }, (_, at) => Math.max(0, Math.floor(at / each) - 1));
  const starts = [];
  for (let [at, start] = [0, first]; at < count; at += 1) {
    starts.push(start);
    start += 1 << extras[at];
  }
  return { codes, starts, extras };
}

/** Return a code as it is written: its first bit first. */
function reversed(code, width) {
  let bits = 0;
  for (let at = 0; at < width; at += 1) bits |= ((code >> at) & 1) << (width - 1 - at);
  return [bits, width];
}

function letter(value) {
  if (value < 144) return reversed(0x30 + value, 8);
  if (value < 256) return reversed(0x190 + value - 144, 9);
  if (value < 280) return reversed(value - 256, 7);
  return reversed(0xc0 + value - 280, 8);
}

const LETTERS = Array.from({ length: 286 }, (_, value) => letter(value));
const LENGTHS = ranges(SHORTEST, 28, 4, LETTERS.slice(257));
LENGTHS.starts.push(LONGEST); // it has a code of its own
LENGTHS.extras.push(0);
const DISTANCES = ranges(1, 30, 2, Array.from({ length: 30 }, (_, code) => reversed(code, 5)));
