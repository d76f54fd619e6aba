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
})();
