// The state as the fragment of an address: compressed JSON in URL-safe characters.

import { deflated } from "./deflate.js";

const PREFIX = "#s=";
export const MOST_LETTERS = 1_500_000; // a browser cuts addresses at 2 MB
const MOST_BYTES = 64_000_000; // of a decompressed address

/** Return the fragment of a state synchronously, because the page may be closed right after. */
export function fragmentOf({ scenario, ...rest }) {
  const others = new TextEncoder().encode(`,${JSON.stringify(rest).slice(1)}`);
  return inLetters([...packedStart(scenario), ...deflated(others)]);
}

const packedStarts = new WeakMap(); // a scenario may be large, and does not change with the controls

/** Return the beginning of a state up to its scenario, compressed. */
function packedStart(scenario) {
  const pack = () => deflated(new TextEncoder().encode(`{"scenario":${JSON.stringify(scenario)}`), false);
  if (scenario === null) return pack();
  if (!packedStarts.has(scenario)) packedStarts.set(scenario, pack());
  return packedStarts.get(scenario);
}

/** Return the shortest fragment of a state; the browser's compression is asynchronous. */
export async function shortFragmentOf(state) {
  const text = new Blob([JSON.stringify(state)]).stream();
  const packed = await new Response(text.pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
  return inLetters(new Uint8Array(packed));
}

function inLetters(bytes) {
  let letters = "";
  for (let at = 0; at < bytes.length; at += 32768) letters += String.fromCharCode(...bytes.slice(at, at + 32768));
  return PREFIX + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Return the state of a fragment, or null if it has another format. */
export async function stateOf(fragment) {
  if (!fragment.startsWith(PREFIX)) return null;
  const letters = atob(fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
  const packed = new Blob([Uint8Array.from(letters, (letter) => letter.charCodeAt(0))]).stream();
  const reader = packed.pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let bytes = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > MOST_BYTES) throw new Error("too large");
    parts.push(value);
  }
  return JSON.parse(await new Blob(parts).text());
}
