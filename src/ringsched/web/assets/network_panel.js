// The knobs of the network: how jobs on a link share it, and how fast links are.

import { html } from "./dom.js";
import { field, numberInput, select, setHint, setValue, typed } from "./fields.js";
import { counted, figure } from "./text.js";
import { ownUplinks, rounded } from "./variation.js";

const MODELS = {
  paper: "the most crowded link of a job sets its pace",
  "max-min": "links share fairly what jobs ask for on average",
  phases: "links share fairly at each moment, among those that exchange just then",
  reserved: "every job has a lane of a link to itself",
};
const DOUBLINGS = 4; // the slider goes so far each way

/** Fill the panel; `change` gets the new network and what changed. */
export function networkPanel(root, about, { state, change }) {
  const set = (part, what) => change({ network: { ...state().network, ...part } }, what);
  const model = select(about.contention_models.map((each) => [each, each]));
  model.addEventListener("change", () => set({ contention: model.value === state().scenario.contention.model ? null : model.value }, "contention"));
  const lanes = numberInput();
  lanes.addEventListener("input", () => set({ lanes: typed(lanes.value) }, "lanes"));
  const slider = html("input", { type: "range", min: -DOUBLINGS, max: DOUBLINGS, step: 0.25, "aria-label": "link speed, slower to faster" });
  const gbps = numberInput();
  const setSpeed = (value) => set({ gbps: value === state().scenario.cluster.inter_server_gbps ? null : value }, "gbps");
  slider.addEventListener("input", () => setSpeed(speedAt(state().scenario.cluster.inter_server_gbps, Number(slider.value))));
  gbps.addEventListener("input", () => setSpeed(typed(gbps.value)));
  const [modelField, lanesField] = [field("model contention.model", "contention", model), field("lanes", "lanes", lanes)];
  const speedField = field("inter_server_gbps", "links, Gbit/s", gbps, "", "the speed of links");
  speedField.querySelector("input").after(slider);
  root.append(modelField, lanesField, speedField);
  return {
    show: ({ scenario, network }) => {
      const own = scenario.cluster.inter_server_gbps;
      model.value = network.contention ?? scenario.contention.model;
      setHint(modelField, MODELS[model.value] ?? "");
      lanesField.hidden = model.value !== "reserved";
      setValue(lanes, network.lanes ?? scenario.contention.lanes ?? 2);
      setValue(gbps, network.gbps ?? own);
      const factor = (network.gbps ?? own) / own;
      if (factor > 0) slider.value = Math.log2(factor);
      slider.setAttribute("aria-valuetext", `${gbps.value} Gbit/s`);
      setHint(speedField, speedHint(scenario, factor));
    },
  };
}

/** Return a speed some doublings from the scenario's own, in three figures unless it is that itself. */
function speedAt(own, doublings) {
  return doublings === 0 ? own : rounded(own * 2 ** doublings, 3);
}

function speedHint(scenario, factor) {
  const { servers, racks } = ownUplinks(scenario);
  const own = [servers && counted(servers, "server"), racks && counted(racks, "rack")].filter(Boolean).join(" and ");
  const times = factor > 0 && factor !== 1 ? `${figure(rounded(factor, 3))} times the scenario's. ` : "";
  return `${times}${own ? `Own uplinks of ${own} change by the same factor.` : ""}`;
}
