document.querySelectorAll(".search").forEach(function (box) {
  var data = JSON.parse(box.querySelector("script").textContent);
  var input = box.querySelector("input"), list = box.querySelector("tbody");
  var heads = box.querySelectorAll("thead th"), said = box.querySelector("output");
  box.hidden = false;
  input.addEventListener("input", function () {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    var hits = words.length ? data.filter(function (row) {
      var text = (row[1] + " " + row[row.length - 1]).toLowerCase();
      return words.every(function (word) { return text.indexOf(word) >= 0; });
    }) : [];
    list.replaceChildren.apply(list, hits.slice(0, 50).map(function (row) {
      var line = document.createElement("tr");
      row.forEach(function (cell, k) {
        var box = line.appendChild(document.createElement("td"));
        box.textContent = cell;
        box.dataset.label = heads[k].textContent;
      });
      return line;
    }));
    box.querySelector(".scroll").hidden = !hits.length;
    said.textContent = !words.length ? "" : hits.length + " found" +
      (hits.length > 50 ? ", the first 50 are shown" : "");
  });
});
