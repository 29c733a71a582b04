// The user's state. The address contains exactly this state.

import { ALL } from "./controls.js";

const KNOBS = ["order", "kappa", "slack", "theta", "seed"];

/** Return the initial state. */
export function freshState() {
  return {
    example: null, // the name of an unchanged example
    scenario: null, // expanded, as the server returns it; without the network controls
    network: { servers: null, gbps: null, contention: null, lanes: null }, // null: as in the scenario
    sides: [freshSide("sjf-bco"), freshSide("longest-first")],
    compare: false,
    objective: "makespan",
    seconds: 10, // for policies with a time limit
    view: restoredView({}),
  };
}

/** Return a policy without fixed parameters. */
export function freshSide(policy) {
  return { policy, order: null, kappa: null, slack: null, theta: null, seed: null };
}

/** Return the state of an address; invalid parts get their defaults. */
export function restored(raw) {
  const state = freshState();
  if (!isTable(raw)) return state;
  const { network, sides, view } = raw;
  if (typeof raw.example === "string") state.example = raw.example;
  if (isTable(raw.scenario)) state.scenario = raw.scenario;
  if (isTable(network)) for (const key of Object.keys(state.network)) state.network[key] = plain(network[key]);
  if (Array.isArray(sides)) state.sides = state.sides.map((side, at) => restoredSide(sides[at], side));
  state.compare = raw.compare === true;
  if (typeof raw.objective === "string") state.objective = raw.objective;
  state.seconds = plain(raw.seconds) ?? state.seconds;
  if (isTable(view)) state.view = restoredView(view);
  return state;
}

function restoredSide(raw, side) {
  if (!isTable(raw) || typeof raw.policy !== "string") return side;
  const knobs = KNOBS.map((knob) => [knob, plain(raw[knob])]);
  return { policy: raw.policy, ...Object.fromEntries(knobs) };
}

function restoredView({ mode, window: stretch, find }) {
  const isStretch = Array.isArray(stretch) && stretch.length === 2 && stretch.every(Number.isFinite) && stretch[0] < stretch[1];
  return { shown: ALL, mode: mode === "load" ? "load" : "jobs", window: isStretch ? stretch : null, find: typeof find === "string" ? find : "" };
}

function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return numbers and texts unchanged, anything else as null. */
function plain(value) {
  return Number.isFinite(value) || typeof value === "string" ? value : null;
}

/** Return the stored form of a state: an unchanged example is stored by its name. */
export function keptState(state) {
  return { ...state, scenario: state.example ? null : state.scenario };
}

/** Return the request for a plan, with the parameters that the policy uses. */
export function requestOf(state, side, policies) {
  const policy = policies.find((each) => each.name === side.policy);
  const request = { policy: side.policy, objective: state.objective };
  for (const knob of KNOBS) {
    const means = knob === "order" ? policy?.order !== "any" : policy?.options.includes(knob === "slack" ? "server-slack" : knob);
    if (means && side[knob] !== null) request[knob] = side[knob];
  }
  if (policy?.options.includes("time-limit")) request.time_limit_s = state.seconds;
  return request;
}

/** Return the label of a policy beside another. */
export function labelsOf(requests) {
  const labels = requests.map(({ policy, order, kappa, slack }) => [
    policy, order, kappa === undefined ? "" : `kappa ${kappa}`, slack === undefined ? "" : `lambda ${slack}`,
  ].filter(Boolean).join(", "));
  return labels.map((label, at) => (labels.indexOf(label) < at ? `${label} (2)` : label));
}
