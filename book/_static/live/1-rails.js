// The mathematics of the rails, of the recipe and of the page that ranks eight things: pure functions
// that draw nothing. tests/book/test_rails.py runs them on node and holds them against poe.
//
// An expert says what an answer wants of a difference d, with which force it pulls when it does not get it,
// and how stiff it is. Energies are zero where every answer gets what it wants.
window.poeLive = window.poeLive || { figures: {} };
poeLive.rails = (() => {
  const { bradleyTerry, gaussian, laplace, laplacian, logit, mean, pseudoInverse, random, resistance, sigmoid } =
    poeLive.mathematics;
  const KINK = 1e-6; // a Laplacian misfit below this is none: laplace() is that exact

  const median = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length / 2;
    return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  };
  const entropy = (p) => -p * Math.log(p) - (1 - p) * Math.log(1 - p);

  // Each force is that on the text shown first: minus the slope of the energy.
  const EXPERTS = {
    gaussian: {
      wants: (p) => p - 0.5,
      energy: (d, p) => (d - (p - 0.5)) ** 2 / 2,
      force: (d, p) => p - 0.5 - d,
      stiffness: () => 1,
      solve: (n, comparisons) => gaussian(n, comparisons).scores,
    },
    "bradley-terry": {
      wants: logit,
      energy: (d, p) => -p * Math.log(sigmoid(d)) - (1 - p) * Math.log(sigmoid(-d)) - entropy(p),
      force: (d, p) => p - sigmoid(d),
      stiffness: (d) => sigmoid(d) * sigmoid(-d),
      solve: (n, comparisons) => bradleyTerry(n, comparisons).scores,
    },
    laplacian: {
      wants: (p) => p - 0.5,
      energy: (d, p) => Math.abs(d - (p - 0.5)),
      force: (d, p) => (Math.abs(d - (p - 0.5)) < KINK ? 0 : Math.sign(p - 0.5 - d)),
      stiffness: () => 0,
      solve: (n, comparisons) => laplace(n, comparisons).scores,
    },
  };

  const difference = (scores, { first, second }) => scores[first] - scores[second];

  // A weight on a string that hangs at its wish pulls as hard as the others need, up to one: the
  // tensions that leave the least force on the rails, one coordinate at a time.
  const balance = (comparisons, forces, slack, net) => {
    for (let sweep = 0; sweep < 300; sweep++) {
      slack.forEach((k) => {
        const { first, second } = comparisons[k];
        const next = Math.max(-1, Math.min(1, forces[k] - (net[first] - net[second]) / 2));
        net[first] += next - forces[k];
        net[second] -= next - forces[k];
        forces[k] = next;
      });
    }
  };

  // What every spring wants, gets and does, the force on every rail, and the energy of the whole.
  const strain = (name, comparisons, scores) => {
    const expert = EXPERTS[name];
    const gets = comparisons.map((pair) => difference(scores, pair));
    const wants = comparisons.map(({ p }) => expert.wants(p));
    const forces = comparisons.map(({ p }, k) => expert.force(gets[k], p));
    const net = scores.map(() => 0);
    comparisons.forEach(({ first, second }, k) => {
      net[first] += forces[k];
      net[second] -= forces[k];
    });
    if (name === "laplacian") {
      const slack = comparisons.flatMap((_, k) => (Math.abs(gets[k] - wants[k]) < KINK ? [k] : []));
      balance(comparisons, forces, slack, net);
    }
    const energies = comparisons.map(({ p }, k) => expert.energy(gets[k], p));
    return {
      wants, gets, forces, net,
      stiffness: comparisons.map((_, k) => expert.stiffness(gets[k])),
      energy: energies.reduce((sum, e) => sum + e, 0),
    };
  };

  // What the comparisons of one text say its score is, the others held.
  const valuesOf = (name, comparisons, scores, i) =>
    comparisons.flatMap(({ first, second, p }) => {
      const wanted = EXPERTS[name].wants(p);
      if (first === i) return [scores[second] + wanted];
      return second === i ? [scores[first] - wanted] : [];
    });

  // Where one text goes if the others hold still: to the mean or the median of what its opponents
  // say, and for soft Bradley-Terry by one Newton step.
  const stepped = (name, comparisons, scores, i) => {
    const values = valuesOf(name, comparisons, scores, i);
    if (values.length === 0) return scores[i];
    if (name === "gaussian") return mean(values);
    if (name === "laplacian") return median(values);
    let [slope, curvature] = [0, 0];
    comparisons.forEach((pair) => {
      if (pair.first !== i && pair.second !== i) return;
      const d = difference(scores, pair);
      slope += (pair.first === i ? 1 : -1) * EXPERTS[name].force(d, pair.p);
      curvature += EXPERTS[name].stiffness(d);
    });
    return scores[i] + slope / curvature;
  };

  const solve = (name, n, comparisons) => EXPERTS[name].solve(n, comparisons);

  // The recipe: one ampere goes in at i and out at j, and f = W L+ r is the share of it that flows
  // through each comparison, from first to second. Then s_i - s_j = f' mu and its variance is f' f.
  const shares = (n, comparisons, i, j) => {
    const inverse = pseudoInverse(laplacian(n, comparisons));
    const potential = inverse.map((row) => row[i] - row[j]);
    return comparisons.map((pair) => difference(potential, pair));
  };

  // ---- Ranking one's own things -------------------------------------------------------------

  // The parts of a graph that answers do not join, as a label for each item.
  const parts = (n, comparisons) => {
    const label = Array.from({ length: n }, (_, i) => i);
    comparisons.forEach(({ first, second }) => {
      const [from, to] = [label[first], label[second]];
      label.forEach((v, i) => {
        if (v === from) label[i] = to;
      });
    });
    return label;
  };
  const joined = (n, comparisons) => new Set(parts(n, comparisons)).size === 1;

  const SUPPOSED = 0.25; // the scatter of an answer, until there are answers enough to tell
  const TELLING = 3; // answers beyond the fewest that place everything: from here on they tell

  // How many standard errors a 95% interval reaches: Student's quantile, by its expansion round the
  // normal one, good to two hundredths from three degrees of freedom on.
  const reach95 = (freedom) => {
    const z = 1.959964;
    const terms = [
      (z ** 3 + z) / 4,
      (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
      (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    ];
    return terms.reduce((sum, term, k) => sum + term / freedom ** (k + 1), z);
  };

  // Scores, the error of every difference, and how much the answers scatter: Gaussian experts, the
  // scatter from the misfits (the K - N + 1 of book eq. 14.10), as poe.fit estimates it. reach: standard
  // errors to the end of a 95% interval.
  const rank = (n, comparisons) => {
    const { scores, covariance } = gaussian(n, comparisons);
    const misfits = comparisons.map((pair) => difference(scores, pair) - (pair.p - 0.5));
    const spare = comparisons.length - n + 1;
    const sum = misfits.reduce((total, m) => total + m * m, 0);
    const estimated = spare >= TELLING && sum > 1e-12;
    const sigma = estimated ? Math.sqrt(sum / spare) : SUPPOSED;
    const ohms = resistance(covariance);
    return {
      scores, misfits, sigma, estimated, bread: covariance, reach: reach95(estimated ? spare : Infinity),
      errors: covariance.map((row, i) => sigma * Math.sqrt(row[i])),
      differences: ohms.map((row) => row.map((v) => sigma * Math.sqrt(Math.max(0, v)))),
    };
  };

  // Before the answers join everything: scores within each part, and no errors.
  const rankParts = (n, comparisons) => {
    const label = parts(n, comparisons);
    const scores = Array(n).fill(0);
    new Set(label).forEach((part) => {
      const items = label.flatMap((v, i) => (v === part ? [i] : []));
      const within = comparisons
        .filter(({ first }) => label[first] === part)
        .map(({ first, second, p }) => ({ first: items.indexOf(first), second: items.indexOf(second), p }));
      gaussian(items.length, within).scores.forEach((score, k) => (scores[items[k]] = score));
    });
    return scores;
  };

  const shuffled = (n, seed) => {
    const [order, draws] = [Array.from({ length: n }, (_, i) => i), random(seed)];
    for (let k = n - 1; k > 0; k--) {
      const l = Math.floor(draws() * (k + 1));
      [order[k], order[l]] = [order[l], order[k]];
    }
    return order;
  };

  // The pair worth asking about: first one that joins two parts, then the one whose difference is
  // known worst (an answer there adds most to log det; book chapter 10), and of equals the closer.
  // Pairs already asked wait until all have been. Of a whole class everybody goes their own way: the
  // seed says which of equally good pairs comes first, and which of its two stands first.
  const nextPair = (n, comparisons, seed) => {
    const order = shuffled(n, seed);
    const label = parts(n, comparisons);
    const count = Array(n).fill(0);
    const asked = new Set();
    comparisons.forEach(({ first, second }) => {
      count[first] += 1;
      count[second] += 1;
      asked.add(Math.min(first, second) * n + Math.max(first, second));
    });
    const whole = joined(n, comparisons);
    const state = whole ? rank(n, comparisons) : null;
    let best = null;
    for (let k = 0; k < n; k++) {
      for (let l = k + 1; l < n; l++) {
        const [i, j] = [order[k], order[l]];
        const fresh = asked.size === (n * (n - 1)) / 2 || !asked.has(Math.min(i, j) * n + Math.max(i, j));
        if (!fresh || (!whole && label[i] === label[j])) continue;
        const value = whole
          ? state.differences[i][j] - 1e-6 * Math.abs(state.scores[i] - state.scores[j])
          : -Math.max(count[i], count[j]) - 1e-3 * (count[i] + count[j]);
        if (best === null || value > best.value + 1e-12) best = { i, j, value };
      }
    }
    if (best === null) return null;
    // Whoever was first more often stands second now: no text always has the better place.
    const led = (i) => comparisons.filter(({ first }) => first === i).length;
    const { i, j } = best;
    const tip = random(seed + comparisons.length)() < 0.5 ? 0.5 : -0.5; // where they led as often
    return led(i) + tip < led(j) ? { first: i, second: j } : { first: j, second: i };
  };

  // The mean of what was said about i over j, or null where nobody asked.
  const opinions = (n, comparisons) => {
    const sum = Array.from({ length: n }, () => Array(n).fill(0));
    const count = Array.from({ length: n }, () => Array(n).fill(0));
    comparisons.forEach(({ first, second, p }) => {
      sum[first][second] += p - 0.5;
      sum[second][first] -= p - 0.5;
      count[first][second] += 1;
      count[second][first] += 1;
    });
    return sum.map((row, i) => row.map((v, j) => (count[i][j] ? v / count[i][j] : null)));
  };

  // Round a ring of answers, one opinion after the other. Differences of scores add up to zero
  // there, so this sum is what the answers on the ring must give up between them.
  const roundTrip = (opinion, ring) =>
    ring.reduce((sum, i, k) => sum + opinion[i][ring[(k + 1) % ring.length]], 0);

  // The worst contradiction: among rings of three, else of four, in which each is said to be better
  // than the next, the one with the largest sum. (A ring that merely does not add up is no
  // contradiction in somebody who has five answers to choose from.)
  const contradiction = (n, comparisons) => {
    const opinion = opinions(n, comparisons);
    const search = (ring, length) => {
      const last = ring[ring.length - 1];
      if (ring.length === length) {
        if (!(opinion[last][ring[0]] > 0)) return null;
        return { ring, sum: roundTrip(opinion, ring) };
      }
      let worst = null;
      for (let next = ring[0] + 1; next < n; next++) {
        if (ring.includes(next) || !(opinion[last][next] > 0)) continue;
        const found = search([...ring, next], length);
        if (found && (worst === null || found.sum > worst.sum + 1e-12)) worst = found;
      }
      return worst;
    };
    for (const length of [3, 4]) {
      const found = Array.from({ length: n }, (_, i) => search([i], length)).filter(Boolean);
      if (found.length) return found.reduce((a, b) => (b.sum > a.sum + 1e-12 ? b : a));
    }
    return null;
  };

  // Answers as a table that a spreadsheet, `poe` and `judging` read: first, second, p, judge. A
  // spreadsheet would run a name that begins like a formula, so an apostrophe stands before it.
  const harmless = (text) => (/^'*[=+\-@]/.test(text) ? `'${text}` : text);
  const quoted = (text) => (/[",;\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const toCsv = (names, comparisons, judge) =>
    ["first,second,p,judge", ...comparisons.map(({ first, second, p }, k) =>
      [names[first], names[second]].map((name) => quoted(harmless(name))).concat(p, Array.isArray(judge) ? judge[k] : judge).join())].join("\n") + "\n";

  // The cells of a line, which semicolons, tabs or commas divide, and a number as such a file has it.
  const cells = (line) => {
    const bare = line.replaceAll(/"(?:[^"]|"")*"/g, "");
    const mark = [";", "\t"].find((one) => bare.includes(one)) ?? ",";
    const found = [];
    const pattern = new RegExp(` *(?:"((?:[^"]|"")*)"|([^${mark}]*)) *(?:${mark}|$)`, "y");
    while (pattern.lastIndex < line.length) {
      const at = pattern.exec(line);
      if (!at) return null;
      found.push((at[1]?.replaceAll('""', '"') ?? at[2].trim()).replace(/^'(?='*[=+\-@])/, ""));
    }
    return found;
  };
  const number = (text) => (/\d/.test(text ?? "") ? Number(text.replace(",", ".")) : NaN);

  // Any number of such tables, one after another, as a class pastes them, and how many people are
  // named in them. Lines that are no answers are counted and left out.
  const fromCsv = (text) => {
    const names = [];
    const position = (name) => {
      if (!names.includes(name)) names.push(name);
      return names.indexOf(name);
    };
    const comparisons = [];
    const judges = []; // who gave each answer, as far as it is said
    let refused = 0;
    text.split(/\r?\n/).forEach((line) => {
      if (!line.trim() || /^\s*"?first"?\s*[,;\t]\s*"?second"?\s*[,;\t]/i.test(line)) return;
      const [first, second, said, judge = "", ...more] = cells(line) ?? [];
      const torn = /^[01]$/.test(said) && /^\d+$/.test(judge); // a decimal comma between commas
      const p = torn ? NaN : number(said);
      if (p >= 0 && p <= 1 && first && second && first !== second && more.length === 0) {
        comparisons.push({ first: position(first), second: position(second), p });
        judges.push(judge);
      } else refused += 1;
    });
    return { names, comparisons, judges, people: new Set(judges.filter(Boolean)).size, refused };
  };

  return {
    EXPERTS, median, strain, valuesOf, stepped, solve, shares, parts, joined, rank, rankParts, shuffled, reach95, nextPair,
    opinions, roundTrip,
    contradiction, toCsv, fromCsv,
  };
})();
