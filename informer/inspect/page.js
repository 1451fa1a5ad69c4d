// Brings the page up to date every two seconds. What has not changed stays the same
// element, so that the place, the focus and what is open are kept. Without this script
// the page is complete, and the link Refresh loads it again.
(function () {
  "use strict";
  var period = 2000, patience = 10000;
  var button = document.getElementById("pause");
  var announce = document.getElementById("announce");
  var paused = false, busy = false, timer = 0;

  // patch makes the element "old" equal to "now", with as few changes as possible.
  function patch(old, now) {
    var i, name;
    for (i = old.attributes.length - 1; i >= 0; i--) {
      name = old.attributes[i].name;
      if (name !== "open" && !now.hasAttribute(name)) { old.removeAttribute(name); }
    }
    for (i = 0; i < now.attributes.length; i++) {
      name = now.attributes[i].name;
      if (old.getAttribute(name) !== now.attributes[i].value) { old.setAttribute(name, now.attributes[i].value); }
    }
    var at = old.firstChild;
    Array.from(now.childNodes).forEach(function (child) {
      var same = find(old, at, child);
      if (!same) {
        old.insertBefore(document.importNode(child, true), at);
        return;
      }
      if (same === at) { at = at.nextSibling; } else { old.insertBefore(same, at); }
      if (same.nodeType === Node.ELEMENT_NODE) {
        patch(same, child);
      } else if (same.nodeValue !== child.nodeValue) {
        same.nodeValue = child.nodeValue;
      }
    });
    while (at) {
      var next = at.nextSibling;
      old.removeChild(at);
      at = next;
    }
  }

  // find returns the child of "old" that stands for "child": the one with its id, or
  // else the next one if it is of the same kind.
  function find(old, at, child) {
    if (child.id) {
      var other = document.getElementById(child.id);
      return other && other.parentNode === old ? other : null;
    }
    return at && at.nodeName === child.nodeName && !at.id ? at : null;
  }

  // place returns what a person looks at: what has the focus, or else the first thing on
  // the screen. Nothing at the top of the page, where news is to be seen.
  function place(main) {
    if (!window.scrollY) { return null; }
    function visible(e) {
      var box = e.getBoundingClientRect();
      return box.top >= 0 && box.bottom <= window.innerHeight;
    }
    var focus = document.activeElement;
    if (main.contains(focus) && visible(focus)) { return focus; }
    return Array.from(main.querySelectorAll("h2, h3, dt, li, summary")).find(visible);
  }

  // renew brings "main" up to date without moving what a person looks at.
  function renew(main, fresh) {
    var mark = place(main), top = mark && mark.getBoundingClientRect().top;
    patch(main, fresh);
    if (mark && mark.isConnected) { window.scrollBy(0, mark.getBoundingClientRect().top - top); }
  }

  function again() {
    clearTimeout(timer);
    if (!paused) { timer = setTimeout(update, period); }
  }

  // query is that of this page, so that the page of one key stays with it.
  function query() {
    var asked = new URLSearchParams(location.search);
    asked.set("format", "html");
    return "?" + asked.toString();
  }

  function selecting() {
    var s = window.getSelection();
    return s && !s.isCollapsed;
  }

  function say(text) {
    if (announce.textContent !== text) { announce.textContent = text; }
    announce.className = text.indexOf("No answer") === 0 ? "" : "unseen";
  }

  function update() {
    if (busy) { return; }
    if (document.hidden || selecting()) { again(); return; }
    busy = true;
    var stop = new AbortController();
    var late = setTimeout(function () { stop.abort(); }, patience);
    fetch(location.pathname + query(), { cache: "no-store", signal: stop.signal }).then(function (answer) {
      if (!answer.ok) { throw new Error(answer.statusText); }
      return answer.text();
    }).then(function (text) {
      var now = new DOMParser().parseFromString(text, "text/html");
      var main = document.getElementById("main"), fresh = now.getElementById("main");
      if (!fresh) { throw new Error("another page"); }
      var changed = main.dataset.key !== fresh.dataset.key || announce.textContent.indexOf("No answer") === 0;
      if (!paused) {
        renew(main, fresh);
        document.title = now.title;
        if (changed) { say(now.querySelector("#verdict .sentence").textContent); }
      }
    }).catch(function () {
      say("No answer from the program since " + document.getElementById("time").textContent + "; what follows is of then.");
    }).then(function () {
      clearTimeout(late);
      busy = false;
      again();
    });
  }

  button.hidden = false;
  button.addEventListener("click", function () {
    paused = !paused;
    button.textContent = paused ? "Resume updates" : "Pause updates";
    again();
  });
  document.addEventListener("visibilitychange", function () {
    if (!document.hidden && !paused) { update(); }
  });
  again();
})();
