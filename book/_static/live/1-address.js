// The state of a live figure in the address, so that somebody can be sent "look at this one":
// #fig-live-honest--4_m2 is a figure's name and the values of its controls, in their order.
window.poeLive = window.poeLive || { figures: {} };
poeLive.address = (() => {
  const MARK = "--";
  const PAUSE = 300; // milliseconds after the last change

  // Numbers keep three digits after the point; a minus beside the mark would look like part of it.
  const word = (value) =>
    typeof value === "number" ? String(Math.round(1000 * value) / 1000).replace("-", "m") : String(value);
  const number = (text) => (/^m?\d+(\.\d+)?$/.test(text) ? Number(text.replace("m", "-")) : NaN);

  const compose = (id, values) => `#${id}${MARK}${values.map(word).join("_")}`;
  // The words after the mark, or null where the address is about something else.
  const parts = (id, hash) => (hash.startsWith(`#${id}${MARK}`) ? hash.slice(id.length + 1 + MARK.length).split("_") : null);

  const put = (hash) => {
    try {
      history.replaceState(history.state, "", hash);
    } catch { /* a page opened where addresses cannot be changed */ }
  };

  // What one figure does with the address: write it now or soon, take its own out again.
  const keeper = (id, values) => {
    let waiting = 0;
    const save = () => {
      clearTimeout(waiting);
      put(compose(id, values()));
    };
    return {
      save,
      soon: () => {
        clearTimeout(waiting);
        waiting = setTimeout(save, PAUSE);
      },
      clear: () => {
        clearTimeout(waiting);
        if (parts(id, location.hash)) put(`#${id}`);
      },
      read: () => parts(id, location.hash),
    };
  };

  // What a copied address is good for: one of a file opens on this computer only.
  const copied = location.protocol === "file:" ? "Copied, for this computer only" : "Copied";

  // A button that puts the address where it can be pasted.
  const copy = (button, save) => {
    const text = button.textContent;
    button.addEventListener("click", () => {
      save();
      const told = (words) => () => (button.textContent = words);
      navigator.clipboard?.writeText(location.href).then(told(copied), told("It is in the address bar"));
      setTimeout(told(text), 2500);
    });
  };

  return { compose, parts, number, keeper, copy, copied };
})();
