// Levels of the link map. One job on a link harms nobody and is grey; from two on it gets warmer.
// The steps differ in lightness, so that they are told apart in grey and by the colour-blind.

const ALONE = "light-dark(#d5dce4, #333b45)";
const WARM_ON_WHITE = ["#fdd49e", "#fdbb84", "#fc8d59", "#e34a33", "#b30000", "#7f0000"];
const WARM_ON_BLACK = ["#6b2a12", "#93370d", "#c4520f", "#ec7a2b", "#ffa95c", "#ffe0b8"];

function warm(at, number) {
  const place = number === 1 ? 2 : Math.round((at * (WARM_ON_WHITE.length - 1)) / (number - 1));
  return `light-dark(${WARM_ON_WHITE[place]}, ${WARM_ON_BLACK[place]})`;
}

/** Return levels by number of jobs: each by itself, or from five on in growing groups. */
export function jobLevels(most) {
  const ends = most <= 6 ? [2, 3, 4, 5, 6].filter((end) => end <= most) : [2, 3, 4, 8, 16, Infinity];
  const kept = ends.filter((end, at) => at === 0 || ends[at - 1] < most).filter((end) => end <= most || most > 6);
  const levels = kept.map((end, at) => ({ most: end, name: nameOfGroup(kept[at - 1] ?? 1, end, most), colour: warm(at, kept.length) }));
  return [{ most: 1, name: "1 job", colour: ALONE }, ...(most > 1 ? levels : [])];
}

function nameOfGroup(before, end, most) {
  const last = Math.min(end, most);
  return last === before + 1 ? `${last}` : `${before + 1}–${last}`;
}

/** Return levels by percentage of the bandwidth in use. */
export function loadLevels() {
  const ends = [20, 40, 60, 80, 95, Infinity];
  const names = ["up to 20 %", "40 %", "60 %", "80 %", "95 %", "100 %"];
  return ends.map((most, at) => ({ most, name: names[at], colour: at === 0 ? ALONE : warm(at - 1, ends.length - 1) }));
}
