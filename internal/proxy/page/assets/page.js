// Loads the page again if the proxy says that something has changed. Without this script, the page is read as it is.
(function () {
  "use strict";
  var state = document.getElementById("live"), busy = false, again = false;
  function show(text) { if (state) { state.textContent = text; } }
  function load() {
    if (busy) { again = true; return; }
    busy = true;
    fetch(location.href, { headers: { Accept: "text/html" } })
      .then(function (answer) { return answer.text(); })
      .then(function (text) {
        var now = new DOMParser().parseFromString(text, "text/html").getElementById("main");
        var old = document.getElementById("main");
        if (!now || !old || now.innerHTML === old.innerHTML) { return; }
        var selected = window.getSelection();
        if (selected && !selected.isCollapsed && old.contains(selected.anchorNode)) { show("something has changed; load again to see it"); return; }
        old.querySelectorAll("details[id]").forEach(function (d) {
          var same = now.querySelector("#" + d.id);
          if (same) { same.open = d.open; }
        });
        old.replaceWith(document.adoptNode(now));
        show("live");
      })
      .catch(function () { show("the proxy does not answer"); })
      .then(function () { busy = false; if (again) { again = false; load(); } });
  }
  var events = new EventSource("/_tiercompact/live");
  events.onopen = function () { show("live"); load(); };
  events.onmessage = load;
  events.onerror = function () { show("not connected"); };
}());
