// What searching this book adds to Sphinx's search. Words that readers use lead to where the book
// has another word for it; whole words in titles come before words in the text, and those before
// parts of words; "how" and "my" are not asked of a page; served pages show a line of each text.
// Loaded on the page of the search alone (book/_ext/page_assets.py), before Sphinx's own scripts.
(() => {
  "use strict";

  // The place, and what readers call it. Each line is a query; its order does not matter.
  const CALLED = {
    "when-both-orders.html": ["both orders", "second order", "swap order", "order of texts"],
    "14-how-sure.html": ["how sure", "confidence interval", "error bars", "uncertainty",
      "significance"],
    "bring-your-own.html": ["rank texts", "rank essays", "own data", "install", "download", "pip"],
    "bring-your-own.html#how-far-people-would-agree": ["human labels", "agree with people", "trust the judge"],
    "bring-your-own.html#a-language-model": ["which judge", "openai", "ollama", "vllm", "server", "api key"],
    "reference.html#what-it-costs": ["cost", "price", "dollars", "how much does it cost"],
    "reference.html#answers-that-you-have-already": ["votes", "csv", "arena votes", "ties"],
    "reference.html#a-leaderboard-of-systems": ["leaderboard", "compare systems", "length bias"],
    "clusters.html": ["slurm", "cluster", "batch", "gpu"],
    "04-bradley-terry-and-zermelo.html": ["elo", "bradley terry", "bt model", "zermelo"],
    "04-priors-and-stopping.html": ["prior", "regularisation", "regularization", "undefeated"],
    "05-the-product-of-experts.html": ["poe", "product of experts"],
    "08-laplacian-experts.html": ["laplacian", "outliers", "robust", "linear program"],
    "09-positional-bias.html": ["position bias", "order bias", "first position"],
    "10-which-comparison-next.html": ["which pair next", "active learning", "adaptive"],
    "02-reading-answers.html": ["logprobs", "tokens", "mass"],
    "03-is-the-ranking-any-good.html": ["spearman", "correlation", "kendall", "metric"],
    "14-when-to-stop.html": ["when to stop", "stopping", "how many comparisons", "budget"],
    "15-when-networks-read.html": ["skillaggregation", "crowdlayer", "bottleneck"],
    "15-several-judges.html": ["several judges", "ensemble", "panel", "majority vote", "jury"],
    "11-running-judges.html": ["speed", "fast", "cache", "throughput"],
    "what-is-new.html": ["new", "findings", "summary", "main results"],
    "what-is-new.html#to-cite-one-of-them": ["cite", "bibtex", "citation", "how to cite", "doi"],
    "results.html": ["reproduction", "reproduce", "replication"],
    "results.html#what-failed": ["failed", "wrong claims", "what failed"],
    "claims.html": ["claims", "table by table", "verdicts"],
    "errata.html": ["errata", "mistakes in the paper", "typos"],
    "measured-judge.html": ["qwen", "smollm2", "real model", "real judge"],
    "judges-foretold.html": ["predictions", "foretold", "planted errors"],
    "judges-otherwise.html": ["wording", "paraphrase", "grading or comparing", "length bias"],
    "table-1.html#what-a-twin-is": ["twin", "simulated judge"],
    "teachers-guide.html": ["teach", "course", "slides", "lecture"],
    "teachers-guide.html#an-assessment-two-hours-40-marks": ["exam", "marks", "assessment"],
    "reproduced-by.html": ["rerun", "who reproduced"],
    "api.html": ["api", "python", "functions"],
    "commands.html": ["command line", "cli", "options"],
    "rank-eight.html": ["demo", "try it", "game", "rank eight"],
  };
  const FILLER = new Set(("a an and are as at be by can could do does each every for from get has have " +
    "how i if in into is it its me my of on or our should so that the their them then there this to us " +
    "was we were what when where which who why will with would you your").split(" "));
  // By what is found: a name for a place, an object by its own name, a title, a name within a longer
  // question, a word, a part of one.
  const SCORE = { called: 300, object: 200, title: 100, within: 90, word: 20, part: 1 };

  const stems = (text) => {
    const all = splitQuery(text.toLowerCase());
    const some = all.filter((word) => !FILLER.has(word));
    const stemmer = new Stemmer();
    return (some.length ? some : all).map((word) => stemmer.stemWord(word));
  };

  // How well words answer a query: 0 unless they have all of it, 1 if they have nothing else.
  const covered = (words, query) =>
    query.every((word) => words.includes(word)) ? query.length / new Set(words).size : 0;

  // A page's title begins with its number, in markup.
  const titled = (file) => Search._index.titles[file].replace(/<[^>]+>/g, "").trim();
  const isPage = (file, title) => Search._index.titles[file].replace(/<span.*?<\/span>/, "") === title;

  const entry = (file, title, anchor, score) => {
    const { docnames, filenames } = Search._index;
    const part = title.trim().replace(/^\((.*)\)$/, "$1"); // an exercise has its title in brackets
    const name = anchor ? `${titled(file)} > ${part}` : titled(file);
    return [docnames[file], name, anchor, null, score, filenames[file]];
  };

  const byName = (query) => {
    const { docnames, alltitles } = Search._index;
    const found = [];
    const fit = (name) => {
      const words = stems(name);
      if (covered(words, query) >= 1) return SCORE.called;
      return words.every((word) => query.includes(word)) ? SCORE.within * words.length / query.length : 0;
    };
    for (const [address, names] of Object.entries(CALLED)) {
      const best = Math.max(...names.map(fit));
      if (!best) continue;
      const [page, part] = address.split("#");
      const file = docnames.indexOf(page.replace(/\.html$/, ""));
      if (file < 0) continue;
      const heads = Object.entries(alltitles).find(([, places]) =>
        places.some(([at, id]) => at === file && id === part));
      const title = heads ? heads[0] : part ?? "";
      found.push(entry(file, title, part ? `#${part}` : "", best));
    }
    return found;
  };

  const byTitle = (query) => {
    const found = [];
    for (const [title, places] of Object.entries(Search._index.alltitles)) {
      const share = covered(stems(title), query);
      if (!share) continue;
      for (const [file, id] of places) {
        const page = isPage(file, title);
        const score = SCORE.title * (0.5 + 0.5 * share) + (page ? 30 : 0);
        found.push(entry(file, title, id === null || page ? "" : `#${id}`, score));
      }
    }
    return found;
  };

  const byObject = (terms, code) => {
    const last = (result) => result[1].toLowerCase().split(".").pop();
    const found = [...terms].flatMap((term) => Search.performObjectSearch(term, terms));
    for (const result of found) {
      const exact = terms.has(last(result)) || terms.has(result[1].toLowerCase());
      result[4] = !exact ? SCORE.part : code ? SCORE.object : SCORE.title / 2;
    }
    return found;
  };

  const byText = (query, excluded) => {
    const found = Search.performTermsSearch(new Set(query), excluded);
    const whole = query.every((word) => Object.hasOwn(Search._index.terms, word));
    for (const result of found) {
      result[1] = titled(Search._index.docnames.indexOf(result[0]));
      result[4] = whole ? SCORE.word + result[4] / Scorer.title : SCORE.part;
    }
    return found;
  };

  // Sphinx prints from the end: best last, of each address only the best.
  const performSearch = (query, searchTerms, excluded, highlight, objectTerms) => {
    document.getElementById("search-progress")?.replaceChildren();
    const words = stems(query);
    const name = query.trim().toLowerCase();
    const code = /^[\w.]*[._][\w.]*$/.test(name); // poe.fit, log_det
    const objects = byObject(code ? new Set([name]) : objectTerms, code);
    const found = [...byName(words), ...byTitle(words), ...objects, ...byText(words, excluded)];
    found.sort((a, b) => b[4] - a[4] || a[1].localeCompare(b[1]));
    const seen = new Set();
    const kept = found.filter(([page, , anchor]) => {
      const address = page + anchor;
      return !seen.has(address) && seen.add(address);
    });
    return kept.reverse();
  };

  // The prose of a page, or of its part: no scripts, code, formulas, folds or links to headings.
  const htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    page.querySelectorAll(
      ".headerlink, script, style, pre, details, nav, table, .math, .cell_input, .jc-run, .jc-executed, h1",
    ).forEach((unwanted) => unwanted.remove());
    const part = anchor ? page.getElementById(anchor.slice(1)) : null;
    const article = part?.closest("section") ?? page.querySelector("article") ?? page.body;
    return article.textContent.replace(/\s+/g, " ").trim();
  };

  document.addEventListener("DOMContentLoaded", () => {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:"; // pages are fetched
    Object.assign(Search, { _performSearch: performSearch, htmlToText });
  });
})();
