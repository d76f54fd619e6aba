// The live figure of chapter 7: how often stated probabilities come true, for judges of any noise.
(() => {
  const { axis, draw, fixed, frame, path, random, scale } = poeLive.kit;
  const { bradleyTerry, mean, normalCdf, resistance, sigmoid } = poeLive.mathematics;
  const [SETS, SIZE, COUNT, FULL] = [60, 16, 48, 60];

  // Two draws of a normal distribution from two uniform ones (Box and Muller).
  const normals = (uniform) => (count) =>
    Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));

  // Texts, pairs and errors are drawn once, so that a curve moves by the judge's noise alone.
  const drawn = () => {
    const uniform = random(7);
    const normal = normals(uniform);
    return Array.from({ length: SETS }, () => {
      const quality = normal(SIZE);
      const ring = quality.map((_, i) => [i, (i + 1) % SIZE]); // nobody is left out
      const others = [];
      for (let i = 0; i < SIZE; i++) {
        for (let j = i + 2; j < SIZE; j++) if (j - i < SIZE - 1) others.push([uniform(), i, j]);
      }
      others.sort((a, b) => a[0] - b[0]);
      const pairs = [...ring, ...others.slice(0, COUNT - SIZE).map(([, i, j]) => [i, j])];
      return { quality, pairs, errors: normal(COUNT) };
    });
  };

  // Of every pair in every set: the lead in standard deviations, and whether it is the right way.
  const judged = (sets, noise) => {
    const leads = [];
    let first = null;
    sets.forEach(({ quality, pairs, errors }) => {
      const comparisons = pairs.map(([i, j], k) => ({
        first: i, second: j, p: sigmoid(quality[i] - quality[j] + noise * errors[k]),
      }));
      const { scores, covariance } = bradleyTerry(SIZE, comparisons);
      const variance = resistance(covariance);
      for (let i = 0; i < SIZE; i++) {
        for (let j = i + 1; j < SIZE; j++) {
          const gap = scores[i] - scores[j];
          const right = gap > 0 === quality[i] > quality[j];
          leads.push({ lead: Math.abs(gap) / Math.sqrt(variance[i][j]), right });
        }
      }
      first = first || { quality, comparisons, scores };
    });
    return { leads, first };
  };

  const share = (some) => mean(some.map(({ right }) => Number(right)));
  // A uniform weight leaves the peak where it is and divides the variance.
  const claimed = (leads, worth) =>
    leads.map(({ lead, right }) => ({ claim: normalCdf(lead * Math.sqrt(worth)), right }));
  const binned = (claims) =>
    Array.from({ length: 10 }, (_, b) => claims.filter(({ claim }) => Math.min(9, Math.floor((claim - 0.5) * 20)) === b))
      .filter((some) => some.length >= FULL)
      .map((some) => [mean(some.map(({ claim }) => claim)), share(some), some.length]);

  // The three judges of the still picture, each answer counted as one decision.
  const STILL = [[1, "noise 1", "live-0", [0.625, 0.85]], [2, "noise 2", "live-1", [0.7, 0.755]], [4, "noise 4", "live-2", [0.975, 0.7]]];

  poeLive.figures["fig-live-honest"] = (figure) => {
    const sets = drawn();
    const behind = STILL.map(([tau]) => binned(claimed(judged(sets, tau).leads, 1)));
    let noise, log, last = null;
    const worth = () => 2 ** log();
    const redraw = (svg) => {
      if (last?.noise !== noise()) last = { noise: noise(), ...judged(sets, noise()) };
      figure.leads = last.leads; // for the tests: too many for the state
      const claims = claimed(last.leads, worth());
      const points = binned(claims);
      tick.value = Math.log2(4 / noise() ** 2);
      const x = scale([0.5, 1], [46, 298]);
      const y = scale([0.4, 1], [212, 22]);
      const ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1];
      axis(svg, { x, y: 212, ticks, name: "stated probability" });
      [0.4, ...ticks].forEach((tick) => {
        draw(svg, "line", { x1: 46, x2: 298, y1: y(tick), y2: y(tick), class: "live-rule" });
        draw(svg, "text", { x: 40, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" }, fixed(tick, 1));
      });
      draw(svg, "text", { x: 8, y: 10, class: "live-name" }, "share in the right order");
      draw(svg, "path", { d: path([[x(0.5), y(0.5)], [x(1), y(1)]]), class: "live-line live-dashed live-3" });
      draw(svg, "text", { x: 54, y: 40, class: "live-name" }, "underconfident");
      draw(svg, "text", { x: 292, y: 200, class: "live-name", "text-anchor": "end" }, "overconfident");
      // Above the end of the diagonal, where no curve goes.
      draw(svg, "text", { x: 300, y: y(1) - 6, class: "live-label live-3", "text-anchor": "end" }, "calibrated");
      behind.forEach((curve, k) => {
        const [, name, look, at] = STILL[k];
        draw(svg, "path", { d: path(curve.map(([c, r]) => [x(c), y(r)])), class: `live-line live-thin ${look}` });
        draw(svg, "text", { x: x(at[0]), y: y(at[1]), class: `live-label live-halo ${look}`, "text-anchor": "end" }, name);
      });
      draw(svg, "path", { d: path(points.map(([c, r]) => [x(c), y(r)])), class: "live-line live-yours" });
      points.forEach(([c, r]) => draw(svg, "circle", { cx: x(c), cy: y(r), r: 3.5, class: "live-solid" }));
      const near = claims.filter(({ claim }) => Math.abs(claim - 0.8) < 0.05);
      const eighty = share(near);
      const said = eighty > 0.85 ? "underconfident" : eighty < 0.75 ? "overconfident" : "calibrated to five points";
      const words =
        `Of ${near.length} pairs given about 80%, ${fixed(100 * eighty, 0)}% are right: ${said}. The product counts ` +
        `an answer as ${worth() === 1 ? "one decision" : `${fixed(worth())} decisions`} and knows nothing of the noise.`;
      return { words, state: { noise: noise(), worth: worth(), points, eighty, leads: last.leads.slice(0, 120), first: last.first } };
    };
    const live = frame(figure, { label: "Stated probabilities and how often they come true", height: 250, redraw });
    noise = live.slider({ text: "noise of an answer (logits)", low: 0.5, high: 5, step: 0.5, value: 4, show: (v) => fixed(v, 1) });
    log = live.slider({
      text: "an answer counts as (decisions)", low: -4, high: 4, step: 0.25, value: 0,
      show: (v) => (v < 0 && Number.isInteger(v) ? `1/${2 ** -v}` : fixed(2 ** v, Number.isInteger(v) ? 0 : 2)),
    });
    // A tick where an answer is counted for what it is worth: 4 / tau^2.
    const marks = poeLive.kit.html("datalist", { id: `${figure.id}-worth` }, live.root);
    const tick = poeLive.kit.html("option", {}, marks);
    live.root.querySelectorAll("input[type=range]")[1].setAttribute("list", marks.id);
    live.restart();
    live.update();
  };
})();
