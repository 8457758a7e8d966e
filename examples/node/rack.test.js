import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Kafka, logLevel } from "kafkajs";

const SELECTOR = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector";

/** Start `kafka-rack serve`; gives what it says once it is ready, and the process. */
async function start(...options) {
  const serve = ["serve", "--port", "0", "--control-port", "0", "--ready-fd", "3", "--end-with-parent", "--quiet", ...options];
  const process_ = spawn(process.env.KAFKA_RACK ?? "kafka-rack", serve, { stdio: ["ignore", "inherit", "inherit", "pipe"] });
  const [line] = await once(createInterface({ input: process_.stdio[3] }), "line");
  return { ...JSON.parse(line), process: process_ };
}

async function post(cluster, path, body) {
  const response = await fetch(cluster.control + path, { method: "POST", body: JSON.stringify(body ?? {}), headers: { "content-type": "application/json" } });
  assert.ok(response.ok, `${path}: ${await response.text()}`);
}

test("orders are read in their own rack, and elsewhere once it is down", async (t) => {
  const cluster = await start("--racks", "a,b,c", "--topic", "orders:3:3", "--set", SELECTOR);
  t.after(() => cluster.process.kill());
  const kafka = new Kafka({ clientId: "reader", brokers: cluster.bootstrap_servers.split(","), logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  // metadataMaxAge: how long it stays with a follower that is gone; 5 minutes unless set
  const consumer = kafka.consumer({ groupId: "orders", rackId: "b", metadataMaxAge: 1000, maxWaitTimeInMs: 100 });
  t.after(() => Promise.allSettled([producer.disconnect(), consumer.disconnect()]));

  let seen = 0;
  let wanted = 0;
  let arrived = () => {};
  const read = (count) => {
    wanted += count;
    return new Promise((resolve) => {
      arrived = () => seen >= wanted && resolve();
      arrived();
    });
  };
  const messages = Array.from({ length: 30 }, (_, number) => ({ key: String(number), value: "an order" }));
  await producer.connect();
  await producer.send({ topic: "orders", messages });
  await consumer.connect();
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  await consumer.run({
    eachMessage: async () => {
      seen += 1;
      arrived();
    },
  });
  await read(30);
  await post(cluster, "/assertions", { assert: "rack_local", client_id: "reader", api: "Fetch" });

  await post(cluster, "/racks/b/stop");
  // kafkajs never ends a request that it writes to a connection whose end it has not seen yet
  await new Promise(setImmediate);
  await producer.send({ topic: "orders", messages });
  await read(30);

  await Promise.allSettled([producer.disconnect(), consumer.disconnect()]);
  await post(cluster, "/shutdown");
  const [code] = await once(cluster.process, "exit");
  assert.equal(code, 0);
});
