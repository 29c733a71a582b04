// The network controls: number of servers, link speed, and contention model.

import { html } from "./dom.js";
import { button, field, numberInput, select, setHint, setValue, typed } from "./fields.js";
import { kindOf, numServers, withServers } from "./servers.js";
import { counted, figure, shortened } from "./text.js";
import { ownUplinks, rounded } from "./variation.js";

const MODELS = {
  paper: "the slowest link of a job limits its speed",
  "max-min": "links are shared fairly by average demand",
  phases: "links are shared fairly at each moment, among the jobs that exchange",
  reserved: "every job has a reserved lane on each link",
};
const DOUBLINGS = 4; // range of the slider in each direction

/** Fill the panel; `change` gets the new network and what changed. */
export function networkPanel(root, about, { state, change }) {
  const set = (part, what) => change({ network: { ...state().network, ...part } }, what);
  const model = select(about.contention_models.map((each) => [each, each]));
  model.addEventListener("change", () => set({ contention: model.value === state().scenario.contention.model ? null : model.value }, "contention"));
  const lanes = numberInput();
  lanes.addEventListener("input", () => set({ lanes: typed(lanes.value) }, "lanes"));
  const servers = numberInput();
  const setCount = (value) => set({ servers: value === state().scenario.cluster.servers.length ? null : value }, "servers");
  const step = (by) => setCount(numServers(state().scenario, state().network.servers) + by);
  servers.addEventListener("input", () => setCount(typed(servers.value)));
  const fewer = button("−", () => step(-1), { "aria-label": "one server fewer" });
  const more = button("+", () => step(1), { "aria-label": "one server more" });
  const slider = html("input", { type: "range", min: -DOUBLINGS, max: DOUBLINGS, step: 0.25, "aria-label": "link speed, slower to faster" });
  const gbps = numberInput();
  const setSpeed = (value) => set({ gbps: value === state().scenario.cluster.inter_server_gbps ? null : value }, "gbps");
  slider.addEventListener("input", () => setSpeed(speedAt(state().scenario.cluster.inter_server_gbps, Number(slider.value))));
  gbps.addEventListener("input", () => setSpeed(typed(gbps.value)));
  const [modelField, lanesField] = [field("model contention.model", "contention", model), field("lanes", "lanes", lanes)];
  const speedField = field("inter_server_gbps", "links, Gbit/s", gbps, "", "the speed of links");
  gbps.after(slider);
  const serversField = field("servers count", "servers", servers);
  const steps = html("div", { class: "steps" });
  servers.replaceWith(steps);
  steps.append(servers, fewer, more);
  root.append(serversField, speedField, modelField, lanesField);
  return {
    show: ({ scenario, network }) => {
      const own = scenario.cluster.inter_server_gbps;
      setValue(servers, network.servers ?? scenario.cluster.servers.length);
      fewer.disabled = numServers(scenario, network.servers) <= 1;
      setHint(serversField, serversHint(scenario, network.servers));
      model.value = network.contention ?? scenario.contention.model;
      setHint(modelField, MODELS[model.value] ?? "");
      lanesField.hidden = model.value !== "reserved";
      setValue(lanes, network.lanes ?? scenario.contention.lanes ?? 2);
      setValue(gbps, network.gbps ?? own);
      const factor = (network.gbps ?? own) / own;
      if (factor > 0) slider.value = Math.log2(factor);
      slider.setAttribute("aria-valuetext", `${gbps.value} Gbit/s`);
      setHint(speedField, speedHint(withServers(scenario, numServers(scenario, network.servers)), factor));
    },
  };
}

function serversHint(scenario, count) {
  const { servers } = scenario.cluster;
  const more = numServers(scenario, count) - servers.length;
  if (more === 0) return "";
  if (more < 0) return `${-more} fewer than the scenario's: without ${shortened(servers.at(more).name, 20)}${more < -1 ? ` to ${shortened(servers.at(-1).name, 20)}` : ""}.`;
  const { name, gpus, rack, switch: above } = kindOf(servers);
  const where = rack ? `, rack ${shortened(rack, 20)}` : above ? `, switch ${shortened(above, 20)}` : "";
  return `${more} more than the scenario's, like ${shortened(name, 20)}: ${counted(gpus, "GPU")}${where}.`;
}

/** Return a speed some doublings from the scenario's own, in three figures unless it is that itself. */
function speedAt(own, doublings) {
  return doublings === 0 ? own : rounded(own * 2 ** doublings, 3);
}

function speedHint(scenario, factor) {
  const { servers, racks, switches } = ownUplinks(scenario);
  const own = [servers && counted(servers, "server"), racks && counted(racks, "rack"), switches && counted(switches, "switch", "switches")].filter(Boolean).join(" and ");
  const times = factor > 0 && factor !== 1 ? `${figure(rounded(factor, 3))} times the scenario's. ` : "";
  return `${times}${own ? `Own uplinks of ${own} change by the same factor.` : ""}`;
}
