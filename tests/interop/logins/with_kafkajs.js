// Logs in with kafkajs and sends a record, once for each MECHANISM USER PASSWORD behind SERVERS and TOPIC.
const { Kafka, Partitioners, logLevel } = require("kafkajs");

async function send(brokers, topic, mechanism, username, password) {
  const sasl = { mechanism: mechanism.toLowerCase(), username, password };
  const times = { connectionTimeout: 60000, authenticationTimeout: 60000, requestTimeout: 60000 };
  const kafka = new Kafka({ brokers, sasl, ssl: false, ...times, logLevel: logLevel.NOTHING, retry: { retries: 0 } });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  try {
    await producer.connect();
    await producer.send({ topic, messages: [{ value: "x" }] });
    return "sent";
  } catch (error) {
    return error.type || (error.cause && error.cause.type) || error.name;
  } finally {
    await producer.disconnect();
  }
}

async function main() {
  const [servers, topic, ...logins] = process.argv.slice(2);
  for (let at = 0; at < logins.length; at += 3)
    console.log(await send(servers.split(","), topic, ...logins.slice(at, at + 3)));
}

main();
