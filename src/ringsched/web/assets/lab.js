// The lab: holds the user's state and passes changes to the modules that show, plan or store it.

import { ApiError } from "./api.js";
import { address, current } from "./address.js";
import { reached } from "./connection.js";
import { complain, forgive } from "./fields.js";
import { jobsSection } from "./jobs_section.js";
import { networkPanel } from "./network_panel.js";
import { toast, withdrawOffer } from "./notices.js";
import { planner } from "./planner.js";
import { policiesPanel } from "./policies_panel.js";
import { results } from "./results.js";
import { exampleNamed, scenarioOf, scenarioPanel } from "./scenario_panel.js";
import { searchPanel } from "./search_panel.js";
import { numServers } from "./servers.js";
import { freshState, labelsOf, requestOf, restored } from "./state.js";
import { counted, shortened } from "./text.js";
import { tools } from "./tools.js";
import { varied } from "./variation.js";

const element = (id) => document.getElementById(id);

class Lab {
  constructor(about) {
    this.about = about;
    this.state = freshState();
    this.travels = 0;
    const access = { state: () => this.state, change: (part, what) => this.change(part, what) };
    this.panels = [
      scenarioPanel(element("scenario"), about, { load: (...given) => this.load(...given), current: () => this.planned() }),
      policiesPanel(element("policies"), about, { ...access, searchAgain: () => this.replan({ again: true }) }),
      networkPanel(element("network"), about, access),
    ];
    this.search = searchPanel(element("search"), () => this.planner.stop());
    this.results = results({ view: () => this.state.view, onView: () => this.address.write(this.state, null), onDrawn: () => this.jobs.show() });
    this.jobs = jobsSection(about, { ...access, pictures: () => this.results.answer()?.pictures });
    this.planner = planner({
      onWork: (works) => document.body.classList.toggle("working", works),
      onResult: (answer) => this.succeed(answer),
      onFailure: (error) => this.fail(error),
      onSearch: (progress) => this.search.show(progress),
    });
    this.address = address(() => {
      this.travels += 1;
      const departure = this.travels;
      return (raw) => departure === this.travels && this.arrive(raw); // otherwise the user navigated while it was read
    });
    tools(element("tools"), { answer: this.results.answer, scenario: () => this.planned(), link: () => this.address.link(this.state) });
    window.addEventListener("pageshow", (event) => event.persisted && this.replan()); // requests were aborted when the page was left
    element("skip").addEventListener("click", () => element("results").focus());
  }

  /** Merge a part into the state; `what` names the control, so that changes of one control are one history step. */
  change(part, what) {
    this.travels += 1; // discards an address that is still being read
    this.state = { ...this.state, ...part };
    this.address.write(this.state, what);
    this.showChoices();
    this.replan();
  }

  load(scenario, example = null) {
    const { network } = freshState();
    withdrawOffer();
    this.change({ scenario, example, network, view: { ...this.state.view, window: null } }, "scenario");
  }

  /** Return the scenario as it is planned. */
  planned() {
    return varied(this.state.scenario, this.state.network);
  }

  showChoices() {
    const { scenario, network } = this.state;
    const { name, jobs } = scenario;
    for (const panel of this.panels) panel.show(this.state);
    element("about").textContent = `${shortened(name ?? "unnamed scenario", 80)}: ${counted(jobs.length, "job")} on ${counted(numServers(scenario, network.servers), "server")}`;
    this.results.showFind();
    this.jobs.show();
    element("lab").hidden = false; // controls have no effect before there is a scenario
  }

  replan({ again = false } = {}) {
    const { compare, sides } = this.state;
    const requests = (compare ? sides : sides.slice(0, 1)).map((side) => requestOf(this.state, side, this.about.policies));
    this.search.clear();
    this.planner.request({ scenario: this.planned(), requests, labels: labelsOf(requests) }, { again });
  }

  succeed(answer) {
    forgiveAll();
    document.body.classList.remove("stale");
    this.results.show(answer);
  }

  fail(error) {
    if (!(error instanceof ApiError)) throw error;
    forgiveAll();
    document.body.classList.add("stale");
    if (error.gone || error.locked) return reached().then(() => this.replan());
    const forms = [...document.querySelectorAll("#policies .side")].filter((_, at) => at === error.side);
    const said = [...forms, element("network"), element("policies")].some((form) => complain(form, error));
    if (!said) element("failure").textContent = error.message;
    return said;
  }

  /** Load the state of an address. It may come from any source, so the server validates its scenario like a file. */
  async arrive(raw) {
    this.travels += 1;
    const travel = this.travels;
    if (raw === undefined) toast("The address is not valid. Showing an example instead.");
    const wanted = restored(raw);
    const { examples } = this.about;
    if (!wanted.scenario) wanted.example = examples.some(({ name }) => name === wanted.example) ? wanted.example : examples[0].name;
    try {
      wanted.scenario = wanted.example ? await exampleNamed(wanted.example) : await scenarioOf(JSON.stringify(wanted.scenario), "json");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (travel !== this.travels) return undefined;
      if (error.gone || error.locked) return reached().then(() => travel === this.travels && this.arrive(raw));
      toast(`The scenario in the address is not valid: ${error.message}`);
      return this.arrive(null);
    }
    if (travel !== this.travels) return undefined; // the user navigated meanwhile
    this.state = wanted;
    withdrawOffer();
    this.showChoices();
    return this.replan();
  }
}

/** Remove all errors, because there is a response now. */
function forgiveAll() {
  document.documentElement.dataset.ready = "yes"; // for tests
  for (const id of ["policies", "network", "outcome"]) forgive(element(id));
}

async function start() {
  await current(); // the token, if the address has one
  try {
    const about = await reached();
    await new Lab(about).arrive(await current());
  } catch (error) {
    if (!(error instanceof ApiError)) throw error; // otherwise the banner shows it
  }
}

start();
