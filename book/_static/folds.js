// Who follows a link into a fold, to an equation or a theorem, wants to see it: the fold opens.
(() => {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target?.closest(".admonition.toggle-hidden");
    if (!fold || fold === target) return;
    fold.querySelector(".toggle-button").click();
    target.scrollIntoView();
  };
  window.addEventListener("load", open);
  window.addEventListener("hashchange", open);
  // A second press of the same link changes no address.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("a[href^='#']")?.hash === location.hash) open();
  });
  // On a phone the box of a chapter's question, time and aims would fill the first screen: it folds
  // like any other, so that the chapter's opening comes first. sphinx-togglebutton sees it so later;
  // until then a style hides it, from the moment when it is read, so that nothing moves.
  if (!matchMedia("(max-width: 36rem)").matches) return;
  const reading = new MutationObserver(() => {
    const box = document.querySelector(".bd-article h1 ~ .admonition.note");
    const title = box?.querySelector(".admonition-title")?.textContent ?? "";
    if (!/^(In this chapter|On this page)$/.test(title)) return;
    box.classList.add("dropdown", "jc-box");
    reading.disconnect();
  });
  reading.observe(document, { childList: true, subtree: true });
  document.addEventListener("readystatechange", () => setTimeout(() => reading.disconnect()), { once: true });
})();
