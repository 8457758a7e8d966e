use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{json, Value};

const SELECTOR: &str = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector";

/// A running `kafka-rack serve`, and what it said once it was ready.
struct Cluster {
    process: Child,
    ready: Value,
}

impl Cluster {
    fn start(options: &[&str]) -> Cluster {
        let program = std::env::var("KAFKA_RACK").unwrap_or("kafka-rack".into());
        let serve = ["serve", "--port", "0", "--control-port", "0", "--ready-fd", "1", "--end-with-parent"];
        let mut process = Command::new(program).args(serve).args(options).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Cluster { process, ready: serde_json::from_str(&line).unwrap() }
    }

    fn post(&self, path: &str, body: Value) {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("{}{path}", self.ready["control"].as_str().unwrap());
        let mut response = agent.post(url).send_json(body).unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.body_mut().read_to_string().unwrap());
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.ready["bootstrap_servers"].as_str().unwrap()).set("client.id", "reader");
        config
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn produce(producer: &BaseProducer, count: usize) {
    for _ in 0..count {
        producer.send(BaseRecord::<(), str>::to("orders").payload("an order")).unwrap();
    }
    producer.flush(None::<Duration>).unwrap();
}

fn consume(consumer: &BaseConsumer, mut count: usize) {
    while count > 0 {
        if let Some(Ok(_)) = consumer.poll(Duration::from_millis(100)) {
            count -= 1;
        }
    }
}

#[test]
fn orders_are_read_in_their_own_rack_and_elsewhere_once_it_is_down() {
    let mut cluster = Cluster::start(&["--racks", "a,b,c", "--topic", "orders:3:3", "--set", SELECTOR]);
    let producer: BaseProducer = cluster.client().create().unwrap();
    let consumer: BaseConsumer = cluster
        .client()
        .set("group.id", "orders")
        .set("client.rack", "b")
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    consumer.subscribe(&["orders"]).unwrap();

    produce(&producer, 30);
    consume(&consumer, 30);
    cluster.post("/assertions", json!({"assert": "rack_local", "client_id": "reader", "api": "Fetch"}));

    cluster.post("/racks/b/stop", json!({}));
    produce(&producer, 30);
    consume(&consumer, 30);

    drop(consumer); // leaves its group while there is one
    cluster.post("/shutdown", json!({}));
    assert!(cluster.process.wait().unwrap().success());
}
