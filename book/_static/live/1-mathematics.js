// The mathematics of the live figures: the same equations as the package, for a handful of items.
// tests/browser/test_live.py holds every function here against poe itself.
//
// A comparison is {first, second, p} with positions from 0; scores have mean zero.
window.poeLive = window.poeLive || { figures: {} };
poeLive.mathematics = (() => {
  const zeros = (n) => new Array(n).fill(0);
  const square = (n) => Array.from({ length: n }, () => zeros(n));
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const logit = (p) => Math.log(p / (1 - p));
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
  const centred = (values) => values.map((v) => v - mean(values));

  // Gauss-Jordan with pivoting; gives the inverse, of at most a few dozen rows.
  const inverse = (matrix) => {
    const n = matrix.length;
    const a = matrix.map((row, i) => [...row, ...zeros(n).map((_, j) => (i === j ? 1 : 0))]);
    for (let c = 0; c < n; c++) {
      let pivot = c;
      for (let r = c + 1; r < n; r++) if (Math.abs(a[r][c]) > Math.abs(a[pivot][c])) pivot = r;
      [a[c], a[pivot]] = [a[pivot], a[c]];
      const by = a[c][c];
      a[c] = a[c].map((v) => v / by);
      for (let r = 0; r < n; r++) {
        if (r === c) continue;
        const times = a[r][c];
        if (times !== 0) a[r] = a[r].map((v, k) => v - times * a[c][k]);
      }
    }
    return a.map((row) => row.slice(n));
  };

  const times = (matrix, vector) =>
    matrix.map((row) => row.reduce((sum, v, j) => sum + v * vector[j], 0));

  const determinant = (matrix) => {
    const a = matrix.map((row) => [...row]);
    let value = 1;
    for (let c = 0; c < a.length; c++) {
      let pivot = c;
      for (let r = c + 1; r < a.length; r++) {
        if (Math.abs(a[r][c]) > Math.abs(a[pivot][c])) pivot = r;
      }
      if (pivot !== c) {
        [a[c], a[pivot]] = [a[pivot], a[c]];
        value = -value;
      }
      value *= a[c][c];
      if (value === 0) return 0;
      for (let r = c + 1; r < a.length; r++) {
        const ratio = a[r][c] / a[c][c];
        for (let k = c; k < a.length; k++) a[r][k] -= ratio * a[c][k];
      }
    }
    return value;
  };

  // W' diag(weights) W, the Laplacian of the comparison graph.
  const laplacian = (n, comparisons, weights) => {
    const matrix = square(n);
    comparisons.forEach(({ first: i, second: j }, k) => {
      const w = weights ? weights[k] : 1;
      matrix[i][i] += w;
      matrix[j][j] += w;
      matrix[i][j] -= w;
      matrix[j][i] -= w;
    });
    return matrix;
  };

  // The pseudo-inverse of a connected graph's Laplacian: (L + J/n)^-1 - J/n.
  const pseudoInverse = (matrix) => {
    const n = matrix.length;
    const full = inverse(matrix.map((row) => row.map((v) => v + 1 / n)));
    return full.map((row) => row.map((v) => v - 1 / n));
  };

  // Solves L x = forces for conductances of any range of sizes, by the star-mesh transform: an item
  // is taken out of the circuit and its neighbours are joined instead. Nothing is subtracted, so
  // nothing cancels.
  const circuit = (n, comparisons, conductances, forces) => {
    const g = square(n);
    comparisons.forEach(({ first, second }, k) => {
      g[first][second] += conductances[k];
      g[second][first] += conductances[k];
    });
    const b = [...forces];
    const total = zeros(n);
    for (let k = n - 1; k > 0; k--) {
      for (let i = 0; i < k; i++) total[k] += g[k][i];
      for (let i = 0; i < k; i++) {
        const share = g[k][i] / total[k];
        b[i] += share * b[k];
        for (let j = 0; j < k; j++) if (j !== i) g[i][j] += share * g[k][j];
      }
    }
    const x = zeros(n);
    for (let k = 1; k < n; k++) {
      let sum = b[k];
      for (let i = 0; i < k; i++) sum += g[k][i] * x[i];
      x[k] = sum / total[k];
    }
    return centred(x);
  };

  const byItem = (n, comparisons, forces) => {
    const sum = zeros(n);
    comparisons.forEach(({ first, second }, k) => {
      sum[first] += forces[k];
      sum[second] -= forces[k];
    });
    return sum;
  };

  const gaps = (comparisons, s) => comparisons.map(({ first, second }) => s[first] - s[second]);

  // Least squares: book eq. 6.4 in the mean-zero convention; beta is eq. 6.6's.
  const gaussian = (n, comparisons, beta = 0.5) => {
    const covariance = pseudoInverse(laplacian(n, comparisons));
    const forces = comparisons.map(({ p }) => p - beta);
    return { scores: times(covariance, byItem(n, comparisons, forces)), covariance };
  };

  // Newton's method on the energy of soft Bradley-Terry experts, with a bias gamma.
  const bradleyTerry = (n, comparisons, gamma = 0) => {
    let s = zeros(n);
    for (let step = 0; step < 50; step++) {
      const q = gaps(comparisons, s).map((d) => sigmoid(d - gamma));
      const covariance = pseudoInverse(laplacian(n, comparisons, q.map((v) => v * (1 - v))));
      const slope = byItem(n, comparisons, comparisons.map(({ p }, k) => p - q[k]));
      const move = times(covariance, slope);
      const largest = Math.max(...move.map(Math.abs));
      const damp = largest > 2 ? 2 / largest : 1;
      s = s.map((v, i) => v + damp * move[i]);
      if (largest < 1e-12) return { scores: centred(s), covariance };
    }
    return { scores: centred(s), covariance: null };
  };

  // The mode of Laplacian experts (sum of |d - (p - 1/2)|) along the central path: each misfit is
  // over - under, and both products over (1 - z), under (1 + z) are t, which falls to zero.
  // Of all optima it ends at the one with the least sum of squares, as the package's does.
  const laplace = (n, comparisons) => {
    const target = comparisons.map(({ p }) => p - 0.5);
    let s = gaussian(n, comparisons).scores;
    const size = Math.max(1e-3, mean(gaps(comparisons, s).map((d, k) => Math.abs(d - target[k]))));
    for (let t = size; t > 1e-13 * size; t /= 3) {
      const least = 1e-8 / size;
      for (let step = 0; step < 40; step++) {
        const r = gaps(comparisons, s).map((d, k) => d - target[k]);
        // |r| smoothed: the z with r = t/(1-z) - t/(1+z) has this slope and curvature.
        const z = r.map((v) => v / (Math.sqrt(t * t + v * v) + t));
        const room = r.map((v, k) => (v === 0 ? 1 : (2 * t * z[k]) / v)); // 1 - z^2
        const c = z.map((v, k) => room[k] ** 2 / (2 * t * (1 + v * v)) + least);
        const slope = byItem(n, comparisons, z.map((v, k) => v + least * r[k]));
        const move = circuit(n, comparisons, c, slope);
        const energy = (at) =>
          gaps(comparisons, at).reduce((sum, d, k) => {
            const root = Math.sqrt(t * t + (d - target[k]) ** 2);
            const barrier = root - t * Math.log((root + t) / (2 * t));
            return sum + barrier + (least / 2) * (d - target[k]) ** 2;
          }, 0);
        const before = energy(s);
        let damp = 1;
        let next = s;
        for (let halving = 0; halving < 30; halving++, damp /= 2) {
          next = s.map((v, i) => v - damp * move[i]);
          if (energy(next) <= before) break;
        }
        s = next;
        if (Math.max(...move.map(Math.abs)) < 1e-13) break;
      }
    }
    return { scores: centred(s) };
  };

  // Variance of every difference, in units of one comparison's: the effective resistance.
  const resistance = (covariance) =>
    covariance.map((row, i) => row.map((_, j) => row[i] + covariance[j][j] - 2 * row[j]));

  // Probability that a lead of z errors is real, whoever leads had some luck: `poe.luck`, the error known.
  const luck = (scores, covariance) => {
    let held = scores.map((_, i) => i);
    for (;;) {
      const rows = held.map((i) => mean(held.map((j) => covariance[i][j])));
      const variance = held.map((i, k) => covariance[i][i] - 2 * rows[k] + mean(rows));
      const inOrder = [...variance].sort((a, b) => a - b);
      const half = (inOrder.length - 1) / 2;
      const middle = (inOrder[Math.floor(half)] + inOrder[Math.ceil(half)]) / 2;
      const kept = held.filter((_, k) => variance[k] <= 10 * middle); // a text that hardly anything holds
      if (kept.length < 2 || kept.length === held.length) {
        const error = variance.reduce((sum, v) => sum + v, 0) / (held.length - 1);
        const q = centred(held.map((i) => scores[i])).reduce((sum, s) => sum + s * s, 0) / error;
        return lead(q, held.length);
      }
      held = kept;
    }
  };

  // Averages over the share of the scores' spread that is error, sin^2 t, by Simpson's rule in t.
  const lead = (q, n, steps = 2000) => {
    const nodes = Array.from({ length: steps + 1 }, (_, k) => {
      const t = (k * Math.PI) / 2 / steps;
      const simpson = k === 0 || k === steps ? 1 : 2 + 2 * (k % 2);
      return { root: Math.cos(t), weight: simpson * Math.sin(t) ** (n - 1) * Math.cos(t) * Math.exp((-q * Math.sin(t) ** 2) / 2) };
    });
    const all = nodes.reduce((sum, { weight }) => sum + weight, 0);
    return (z) => nodes.reduce((sum, { root, weight }) => sum + weight * normalCdf(root * z), 0) / all;
  };

  // log det of W' W with the anchor on item 1 (book chapter 6): minus one row and column, plus 1.
  const logDeterminant = (n, comparisons) => {
    const matrix = laplacian(n, comparisons);
    matrix[0][0] += 1;
    const value = determinant(matrix);
    return value > 1e-9 ? Math.log(value) : -Infinity;
  };

  // Share of comparisons won (ties half), and mean probability of being better.
  const shares = (n, comparisons) => {
    const wins = zeros(n);
    const sum = zeros(n);
    const count = zeros(n);
    comparisons.forEach(({ first, second, p }) => {
      const hard = p > 0.5 ? 1 : p < 0.5 ? 0 : 0.5;
      wins[first] += hard;
      wins[second] += 1 - hard;
      sum[first] += p;
      sum[second] += 1 - p;
      count[first] += 1;
      count[second] += 1;
    });
    return {
      winRatio: wins.map((v, i) => v / count[i]),
      averageProbability: sum.map((v, i) => v / count[i]),
    };
  };

  // The normal distribution function, by the continued fraction and series of erf.
  const normalCdf = (x) => {
    if (x < 0) return 1 - normalCdf(-x);
    if (x > 8) return 1;
    let term = x;
    let sum = x;
    if (x < 3) {
      for (let k = 1; k < 100; k++) {
        term *= (x * x) / (2 * k + 1);
        sum += term;
      }
      return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
    }
    let fraction = 0;
    for (let k = 60; k > 0; k--) fraction = k / (x + fraction);
    return 1 - Math.exp((-x * x) / 2) / (Math.sqrt(2 * Math.PI) * (x + fraction));
  };

  // Ranks with ties at their average, 1 the best, and Spearman's correlation.
  const ranks = (values) =>
    values.map((v) => {
      const above = values.filter((w) => w > v + 1e-9).length;
      const level = values.filter((w) => Math.abs(w - v) <= 1e-9).length;
      return above + (level + 1) / 2;
    });
  const pearson = (a, b) => {
    const [x, y] = [centred(a), centred(b)];
    const dot = (u, v) => u.reduce((sum, w, k) => sum + w * v[k], 0);
    return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
  };
  const spearman = (a, b) => pearson(ranks(a), ranks(b));

  // A sequence of pseudo-random numbers in (0, 1), the same in every browser (mulberry32).
  const random = (seed) => {
    let a = seed >>> 0;
    return () => {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = Math.imul(a ^ (a >>> 15), 1 | a);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296 + 1e-12;
    };
  };

  return {
    sigmoid, logit, mean, gaussian, bradleyTerry, luck, laplace, resistance,
    logDeterminant, shares, normalCdf, ranks, pearson, spearman, pseudoInverse, laplacian, random,
  };
})();
