// Shortened texts, and numbers for people.

const ruler = document.createElement("canvas").getContext("2d");
const FONT = "system-ui, sans-serif";

/** Return the width of a text in pixels. */
export function textWidth(text, size) {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** Return a text cut to a width in pixels, with an ellipsis in place of its end; "" if nothing fits. */
export function fitted(text, width, size) {
  // Measuring a very long name is slow.
  const letters = Array.from(text.slice(0, 300));
  if (letters.length === text.length && textWidth(text, size) <= width) return text;
  let fits = 0;
  for (let beyond = letters.length; fits < beyond; ) {
    const middle = Math.ceil((fits + beyond) / 2);
    if (textWidth(letters.slice(0, middle).join("") + "…", size) <= width) fits = middle;
    else beyond = middle - 1;
  }
  return fits > 0 ? letters.slice(0, fits).join("") + "…" : "";
}

/** Return a name cut to a number of letters. */
export function shortened(name, most = 60) {
  const letters = Array.from(name);
  return letters.length <= most ? name : letters.slice(0, most - 1).join("") + "…";
}

/** Return a number for people: whole where it is whole, else three figures or a tenth. */
export function figure(value) {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(1) : String(Number(value.toPrecision(3)));
}

const UNITS = [
  { name: "s", seconds: 1 },
  { name: "min", seconds: 60 },
  { name: "h", seconds: 3600 },
  { name: "days", seconds: 86400 },
];

/** Return the unit in which a time range has a few whole numbers. */
export function unitOf(span) {
  return [...UNITS].reverse().find((unit) => span >= 4 * unit.seconds) || UNITS[0];
}

const PARTS = [["day", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Return a duration for people as the command line prints it, such as "1 h 39 min" or "2.5 s". */
export function duration(seconds) {
  const at = PARTS.findIndex(([, length]) => seconds >= length);
  if (at < 0 || at === PARTS.length - 1) return Number(seconds.toPrecision(3)) < 60 ? `${figure(seconds)} s` : "1 min";
  const [[unit, length], [smaller, part]] = [PARTS[at], PARTS[at + 1]];
  const rounded = Math.round(seconds / part) * part;
  if (at > 0 && rounded >= PARTS[at - 1][1]) return duration(rounded); // not "60 min"
  const [whole, rest] = [Math.floor(rounded / length), (rounded % length) / part];
  const first = unit === "day" ? counted(whole, "day") : `${whole} ${unit}`;
  return rest ? `${first} ${rest} ${smaller}` : first;
}

/** Return a gap as a percentage above the bound, rounded up, because the claim is "at most". */
export function percentAbove(ratio) {
  return `${(Math.ceil(1000 * (ratio - 1) - 1e-6) / 10).toFixed(1)} %`;
}

/** Return "1 job", "2 jobs". */
export function counted(number, noun, several = `${noun}s`) {
  return `${number} ${number === 1 ? noun : several}`;
}
