// The live figure of chapter 2: what a model says next, for two summaries in both orders.
(() => {
  const { draw, fixed, frame, scale, signed } = poeLive.kit;
  // Two models about the ferry's summaries [measured]: the five likeliest tokens after "Summary" and the
  // logarithms of their probabilities, by who was shown first and second (data/measured/ferry.json and
  // data/measured/qwen/ferry.json).
  const ANSWERS = {
    "SmolLM2": {
      "Ada-Ben": [["A", -0.2722], ["B", -1.7066], ["C", -3.2419], ["D", -5.5768], [":", -5.7335]],
      "Ada-Cleo": [["A", -0.2738], ["B", -1.6868], ["C", -3.3230], [":", -5.5233], ["D", -5.6505]],
      "Ada-Dan": [["A", -0.2636], ["B", -1.6937], ["C", -3.4440], [":", -5.6176], ["D", -5.8370]],
      "Ben-Ada": [["A", -0.3101], ["B", -1.6374], ["C", -3.0218], [":", -5.2313], ["D", -5.3441]],
      "Ben-Cleo": [["A", -0.2179], ["B", -1.9597], ["C", -3.3441], [":", -5.1947], ["D", -5.7252]],
      "Ben-Dan": [["A", -0.2528], ["B", -1.7930], ["C", -3.3574], [":", -5.1185], ["space", -5.5781]],
      "Cleo-Ada": [["A", -0.3084], ["B", -1.6149], ["C", -3.1251], [":", -5.1791], ["D", -5.4788]],
      "Cleo-Ben": [["A", -0.2263], ["B", -1.9156], ["C", -3.3190], [":", -5.2878], ["D", -5.7097]],
      "Cleo-Dan": [["A", -0.2623], ["B", -1.7614], ["C", -3.3645], [":", -4.8754], ["space", -5.6021]],
      "Dan-Ada": [["A", -0.2896], ["B", -1.6499], ["C", -3.2482], [":", -5.1494], ["D", -5.5925]],
      "Dan-Ben": [["A", -0.2566], ["B", -1.7999], ["C", -3.2516], [":", -5.0400], ["D", -5.6082]],
      "Dan-Cleo": [["A", -0.2580], ["B", -1.7923], ["C", -3.3279], [":", -4.7097], ["D", -5.7017]],
    },
    "Qwen2.5-Coder": {
      "Ada-Ben": [["A", -0.4987], ["B", -0.9458], ["C", -6.8457], [":↵", -7.8305], ["Summary", -7.8555]],
      "Ada-Cleo": [["A", -0.4054], ["B", -1.1143], ["C", -6.6774], ["Summary", -7.5131], [":↵", -7.6770]],
      "Ada-Dan": [["A", -0.3319], ["B", -1.2847], ["C", -6.4634], ["Summary", -7.2660], ["Analysis", -7.6200]],
      "Ben-Ada": [["B", -0.6611], ["A", -0.7349], ["C", -6.9214], ["Summary", -7.8561], [":↵", -7.9224]],
      "Ben-Cleo": [["A", -0.4815], ["B", -0.9721], ["C", -6.8789], ["Summary", -7.6731], [":↵", -8.0962]],
      "Ben-Dan": [["A", -0.3442], ["B", -1.2506], ["C", -6.5042], ["Summary", -7.4389], [":↵", -7.9412]],
      "Cleo-Ada": [["B", -0.4902], ["A", -0.9563], ["C", -7.2054], [":↵", -8.1765], ["**", -8.2235]],
      "Cleo-Ben": [["B", -0.6217], ["A", -0.7785], ["C", -7.1571], ["Summary", -7.8307], [":↵", -7.9849]],
      "Cleo-Dan": [["A", -0.4624], ["B", -1.0088], ["C", -6.3963], ["Summary", -7.2191], [":↵", -7.9040]],
      "Dan-Ada": [["B", -0.3828], ["A", -1.1595], ["C", -6.5985], [":", -7.9296], [":↵", -7.9676]],
      "Dan-Ben": [["B", -0.3648], ["A", -1.1957], ["C", -6.9315], ["**", -8.3077], [":", -8.4152]],
      "Dan-Cleo": [["B", -0.5728], ["A", -0.8410], ["C", -6.3703], [":", -7.8914], ["Summary", -8.0951]],
    },
  };
  const WHO = { Ada: 0, Ben: 1, Cleo: 2, Dan: 3 };
  const PAIRS = Object.keys(ANSWERS.SmolLM2).map((key) => key.split("-")).filter(([a, b]) => WHO[a] < WHO[b]);
  const turned = (key) => key.split("-").reverse().join("-");
  // The logit of A against B: log-probabilities differ from logits by what cancels here.
  const lead = (said, key) => {
    const { A, B } = Object.fromEntries(said[key]);
    return A - B;
  };

  poeLive.figures["fig-live-next-token"] = (figure) => {
    let model;
    let pair;
    let order = "Ada-Dan"; // the one that is in front now
    const seen = new Set(["Ada-Dan", "Dan-Ada"]);
    const panel = (svg, key, top) => {
      const [first, second] = key.split("-");
      draw(svg, "text", { x: 84, y: top, class: "live-name" }, `A is ${first}’s, B is ${second}’s`);
      if (!seen.has(key)) {
        draw(svg, "text", { x: 84, y: top + 60, class: "live-name" }, "not asked yet: change places");
        return;
      }
      const x = scale([0, 1], [84, 310]);
      ANSWERS[model()][key].forEach(([token, log], k) => {
        const y = top + 18 + 20 * k;
        const look = token === "A" ? WHO[first] : token === "B" ? WHO[second] : null;
        draw(svg, "text", { x: 76, y: y + 5, class: "live-label", "text-anchor": "end" }, token);
        draw(svg, "rect", {
          x: x(0), y: y - 7, width: Math.max(1, x(Math.exp(log)) - x(0)), height: 14,
          class: look === null ? "live-trough" : `live-text live-${look}`,
        });
        draw(svg, "text", { x: x(Math.exp(log)) + 6, y: y + 5, class: "live-tick" }, fixed(Math.exp(log), 3));
      });
    };
    const redraw = (svg) => {
      if (![pair(), turned(pair())].includes(order)) {
        order = pair();
        seen.add(order);
      }
      const [first, second] = pair().split("-");
      panel(svg, order, 18);
      panel(svg, turned(order), 146);
      const both = seen.has(turned(order));
      const said = ANSWERS[model()];
      const [one, other] = [lead(said, pair()), lead(said, turned(pair()))];
      const [bias, difference] = [(one + other) / 2, (one - other) / 2];
      const x = scale([-0.5, 2], [112, 306]);
      [["the place", bias], [`${first} over ${second}`, difference]].forEach(([name, value], k) => {
        const y = 290 + 22 * k;
        draw(svg, "text", { x: 106, y: y + 4, class: "live-name", "text-anchor": "end" }, name);
        draw(svg, "line", { x1: x(-0.5), x2: x(2), y1: y, y2: y, class: "live-rule" });
        if (!both) return;
        draw(svg, "circle", { cx: x(value), cy: y, r: 6, class: "live-solid" });
        draw(svg, "text", { x: 314, y: y + 4, class: "live-number" }, signed(value));
      });
      draw(svg, "line", { x1: x(0), x2: x(0), y1: 278, y2: 324, class: "live-rule" });
      draw(svg, "text", { x: x(0), y: 340, class: "live-tick", "text-anchor": "middle" }, "0");
      draw(svg, "text", { x: x(1), y: 340, class: "live-name", "text-anchor": "middle" }, "logits");
      const liked = Math.abs(difference) < 0.01 ? `cannot tell ${first} and ${second} apart` :
        `puts ${difference > 0 ? first : second} above ${difference > 0 ? second : first} by ${fixed(Math.abs(difference))}`;
      const way = lead(said, order) > 0 ? "A" : "B";
      const kept = one * other > 0
        ? `In both orders it prefers what is called ${way}.`
        : `It prefers ${one > 0 ? first : second}’s, whatever it is called.`;
      const words = both
        ? `${kept} Half the sum of its two logits, ${signed(bias)}, is about the place; half their difference says that it ${liked}.`
        : `With ${order.split("-")[0]} in the first place it prefers ${way}. Now change places.`;
      return { words, state: { model: model(), pair: pair(), order, both, logits: [one, other], bias, difference } };
    };
    const more = {
      get: () => [order === pair() ? "as-is" : "turned", seen.has(turned(order)) ? "both" : "one"],
      set: ([way, much]) => {
        if (!["as-is", "turned"].includes(way) || !["both", "one"].includes(much)) return false;
        queueMicrotask(() => {
          order = way === "turned" ? turned(pair()) : pair();
          seen.add(order);
          if (much === "both") seen.add(turned(order));
          live.update();
        });
        return true;
      },
    };
    const live = frame(figure, { label: "What comes after “Summary”, in both orders", height: 346, redraw, more });
    model = live.choice({
      text: "model", value: "SmolLM2",
      options: [["SmolLM2", "SmolLM2, 135 million weights"], ["Qwen2.5-Coder", "Qwen2.5-Coder, 1.5 billion"]],
    });
    pair = live.choice({
      text: "two summaries", value: "Ada-Dan",
      options: PAIRS.map(([a, b]) => [`${a}-${b}`, `${a} and ${b}`]),
    });
    live.button("Change places", () => {
      order = turned(order);
      seen.add(order);
    });
    live.restart(() => {
      seen.clear();
      ["Ada-Dan", "Dan-Ada"].forEach((key) => seen.add(key));
      order = "Ada-Dan";
    });
    live.update();
  };
})();
