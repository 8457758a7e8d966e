// The page begins here: the views, the controls at the top, and the stream that feeds them.

import { reset, say } from "./actions.js";
import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { clock, plural } from "./format.js";
import * as faults from "./faults_view.js";
import * as links from "./links_view.js";
import * as matrix from "./matrix_view.js";
import { pytestText } from "./pytest_text.js";
import * as racks from "./racks_view.js";
import * as requests from "./requests_view.js";
import * as rows from "./rows_panel.js";
import { state, watch } from "./store.js";
import { listen, retry } from "./stream.js";
import * as summary from "./summary_view.js";
import * as tables from "./tables_view.js";
import * as traffic from "./traffic_view.js";

for (const view of [summary, racks, links, traffic, tables, matrix, faults, requests, rows]) view.start();
startConnection();
startTheme();
startReset();
startPytest();
watch(["cluster"], drawOutline);
listen();

const MODES = { zookeeper: ", ZooKeeper mode", proxy: ", before a real cluster" };

function drawOutline() {
  if (state.cluster === null) return;
  const { brokers, racks: found, mode } = state.cluster;
  setText(
    byId("outline"),
    `${plural(Object.keys(found).length, "rack")}, ${plural(brokers.length, "broker")}${MODES[mode] ?? ""}`,
  );
  const isProxy = mode === "proxy"; // what a proxy cannot do is not offered
  byId("reset").hidden = byId("groups").hidden = isProxy;
}

// connection

const CONNECTIONS = { connecting: "Connecting", live: "Live", lost: "Connection lost" };
let ticking = null;
let wasLost = false;

function startConnection() {
  byId("retry").addEventListener("click", retry);
  watch(["connection"], drawConnection);
}

function drawConnection() {
  const { status, retryAtMs } = state.connection;
  setAttribute(byId("connection"), "data-status", status);
  setAttribute(document.body, "data-connection", status);
  const seconds = retryAtMs === null ? 0 : Math.max(0, Math.ceil((retryAtMs - Date.now()) / 1000));
  setText(byId("connection-text"), CONNECTIONS[status]);
  setAttribute(byId("connection"), "title", seconds > 0 ? `next attempt in ${seconds} s` : null);
  byId("retry").hidden = status !== "lost";
  if (status === "lost") say("The connection to the cluster is lost; what is shown may be old.", true);
  else if (status === "live" && wasLost) say("Connected again.");
  wasLost = status === "lost" || (wasLost && status !== "live");
  clearTimeout(ticking);
  if (status === "lost") ticking = setTimeout(drawConnection, 1000);
}

// dark and light

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const draw = () => setAttribute(byId("theme"), "aria-pressed", String(isDark()));
  byId("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("kafka-rack-theme", theme);
    } catch {
      // it holds for this page then
    }
    draw();
  });
  system.addEventListener("change", draw);
  draw();
}

// reset

function startReset() {
  const dialog = byId("confirm");
  byId("reset").addEventListener("click", () => dialog.showModal());
  byId("confirm-no").addEventListener("click", () => dialog.close());
  byId("confirm-yes").addEventListener("click", () => {
    dialog.close();
    reset();
  });
}

// what was done

function startPytest() {
  const dialog = byId("pytest");
  byId("copy").addEventListener("click", () => {
    if (state.cluster === null) return;
    byId("pytest-text").value = pytestText(state.cluster, state.topics, state.actions);
    dialog.showModal();
    copyText();
  });
  byId("pytest-again").addEventListener("click", copyText);
  byId("pytest-close").addEventListener("click", () => dialog.close());
  watch(["actions"], drawActions);
}

async function copyText() {
  const text = byId("pytest-text");
  try {
    await navigator.clipboard.writeText(text.value);
    setText(byId("pytest-copied"), "Copied.");
    say("Copied as a test.");
  } catch {
    text.select();
    setText(
      byId("pytest-copied"),
      "The browser does not allow to copy by itself: the text is selected, copy it by hand.",
    );
  }
}

function drawActions() {
  const items = state.actions.map((action, index) => ({ ...action, index }));
  reconcile(
    byId("actions-list"),
    items,
    ({ index }) => index,
    createAction,
    () => {},
  );
  byId("actions-note").hidden = items.length > 0;
  byId("copy-count").hidden = items.length === 0;
  setText(byId("copy-count"), items.length);
}

function createAction({ atMs, words }) {
  return { node: make("li", {}, make("time", { class: "soft" }, clock(atMs).slice(0, 8)), ` ${words}`) };
}
