// How the search of the site orders its results. The defaults of Sphinx are the numbers; `score` is ours.

var Scorer = {
  // Many pages have the same score: those that explain come first, records of decisions and changes last.
  score: ([docname, , , , score]) => {
    const places = { "getting-started": 3, tutorials: 3, "how-to": 3, concepts: 2, reference: 1, decisions: -4, changelog: -4 };
    return score + (places[docname.split("/")[0]] ?? 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Excerpts are fetched from the pages, which browsers allow from a server only.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
