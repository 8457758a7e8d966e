// Starts the views, the buttons at the top and the stream that feeds them.

import { reset, say } from "./actions.js";
import "./answer_view.js";
import "./calls_view.js";
import { byId, draw, h, setAttribute, setText } from "./dom.js";
import { clock, plural } from "./format.js";
import "./faults_view.js";
import "./map_view.js";
import "./matrix_view.js";
import { copy } from "./parts.js";
import { pytestText } from "./pytest_text.js";
import "./racks_view.js";
import { state, watch } from "./store.js";
import { listen } from "./stream.js";
import "./tables_view.js";

startTheme();
startDialogs();
watch(["connection"], drawConnection);
watch(["cluster"], drawOutline);
watch(["actions"], drawActions);
listen();

const MODES = { zookeeper: ", ZooKeeper mode", proxy: ", in front of a real cluster" };

function drawOutline() {
  if (state.cluster === null) return;
  const { brokers, racks: found, mode } = state.cluster;
  const shape = `${plural(Object.keys(found).length, "rack")}, ${plural(brokers.length, "broker")}`;
  setText(byId("outline"), shape + (MODES[mode] ?? ""));
  byId("reset").hidden = byId("groups").hidden = mode === "proxy"; // a proxy can do neither
}

const CONNECTIONS = { connecting: "Connecting", live: "Live", lost: "Connection lost" };
let wasLost = false;

function drawConnection() {
  const { status } = state.connection;
  setAttribute(byId("connection"), "data-status", status);
  setAttribute(document.body, "data-connection", status);
  setText(byId("connection-text"), CONNECTIONS[status]);
  byId("retry").hidden = status !== "lost";
  if (status === "lost") say("The connection to the cluster is lost; the figures may be old.", true);
  else if (status === "live" && wasLost) say("Connected again.");
  wasLost = status === "lost" || (wasLost && status !== "live");
}

function startTheme() {
  const { dataset } = document.documentElement;
  const chosen = localStorage.getItem("kafka-rack-theme");
  if (chosen !== null) dataset.theme = chosen;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const other = () => ((dataset.theme ?? (system.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark");
  const show = () => setText(byId("theme"), other());
  byId("theme").addEventListener("click", () => {
    dataset.theme = other().toLowerCase();
    show();
    localStorage.setItem("kafka-rack-theme", dataset.theme);
  });
  system.addEventListener("change", show);
  show();
}

function startDialogs() {
  const [confirm, pytest, text] = ["confirm", "pytest", "pytest-text"].map(byId);
  byId("reset").addEventListener("click", () => confirm.showModal());
  byId("confirm-no").addEventListener("click", () => confirm.close());
  byId("confirm-yes").addEventListener("click", () => {
    confirm.close();
    reset();
  });
  const copyText = async () => {
    const isCopied = await copy(text.value, "Copied as a test.");
    if (!isCopied) text.select();
    const blocked = "Your browser blocked copying. The text is selected: press Ctrl+C.";
    setText(byId("pytest-copied"), isCopied ? "Copied." : blocked);
  };
  byId("copy").addEventListener("click", () => {
    if (state.cluster === null) return;
    text.value = pytestText(state.cluster, state.topics, state.actions);
    pytest.showModal();
    copyText();
  });
  byId("pytest-again").addEventListener("click", copyText);
  byId("pytest-close").addEventListener("click", () => pytest.close());
}

function drawActions() {
  const { actions } = state;
  const at = (ms) => h("time", { class: "soft" }, clock(ms).slice(0, 8));
  const lines = actions.map(({ atMs, words }) => h("li", {}, at(atMs), ` ${words}`));
  draw(byId("actions-list"), lines);
  byId("actions-note").hidden = actions.length > 0;
  byId("copy-count").hidden = actions.length === 0;
  setText(byId("copy-count"), actions.length);
}
