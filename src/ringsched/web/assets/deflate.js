// Synchronous deflate (RFC 1951). The built-in one is asynchronous, and the page may be closed before it is done.

const [SHORTEST, LONGEST, FARTHEST] = [3, 258, 32768]; // of a match, and its largest distance
const MOST_TRIES = 24; // candidates for a match, the nearest first
const HASH_BITS = 15;
const [FIXED, END] = [1, 256]; // the block type, and the end-of-block symbol

/** Return bytes compressed with fixed Huffman codes, as the final block or as one that continues; `deflate-raw` decompresses it. */
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
  if (!isEnd) put(0, 3); // an empty stored block, which aligns the next block to a byte
  return isEnd ? end() : new Uint8Array([...end(), 0, 0, 0xff, 0xff]);
}

/** Return `find`, which finds the longest earlier match of a position, and `pass`, which adds a position to the table. */
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

/** Return `put`, which appends a number with a bit width, and `end`, which returns all bits as bytes. */
function bitsInto(length) {
  const bytes = new Uint8Array(length + (length >> 3) + 4); // a symbol has at most 9 bits
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
    put(0, 7); // the remaining bits
    return bytes.subarray(0, full);
  };
  return { put, end };
}

/** Write a length or a distance: the code of its range, and the offset in the range. */
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

/** Return ranges of values: every `each` ranges are twice as wide as those before, except the second group, which is like the first. */
function ranges(first, count, each, codes) {
  const extras = Array.from({ length: count }, (_, at) => Math.max(0, Math.floor(at / each) - 1));
  const starts = [];
  for (let [at, start] = [0, first]; at < count; at += 1) {
    starts.push(start);
    start += 1 << extras[at];
  }
  return { codes, starts, extras };
}

/** Return a code with its bits reversed, as it is written. */
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
LENGTHS.starts.push(LONGEST); // it has a separate code
LENGTHS.extras.push(0);
const DISTANCES = ranges(1, 30, 2, Array.from({ length: 30 }, (_, code) => reversed(code, 5)));
