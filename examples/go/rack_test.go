package example

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is what `kafka-rack serve` says once it is ready.
type Cluster struct {
	BootstrapServers string `json:"bootstrap_servers"`
	Control          string `json:"control"`
	command          *exec.Cmd
}

func start(t *testing.T, options ...string) *Cluster {
	serve := []string{"serve", "--port", "0", "--control-port", "0", "--ready-fd", "1", "--end-with-parent"}
	cluster := &Cluster{command: exec.Command(cmp.Or(os.Getenv("KAFKA_RACK"), "kafka-rack"), append(serve, options...)...)}
	cluster.command.Stderr = os.Stderr
	ready, _ := cluster.command.StdoutPipe()
	if err := cluster.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.command.Process.Kill() })
	if err := json.NewDecoder(ready).Decode(cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func (cluster *Cluster) post(t *testing.T, path, body string) {
	t.Helper()
	response, err := http.Post(cluster.Control+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, _ := io.ReadAll(response.Body); response.StatusCode >= 400 {
		t.Fatalf("%s: %s", path, answer)
	}
}

func produce(t *testing.T, client *kgo.Client, count int) {
	t.Helper()
	for range count {
		client.Produce(context.Background(), kgo.StringRecord("an order"), nil)
	}
	if err := client.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func consume(client *kgo.Client, count int) {
	for count > 0 {
		count -= client.PollFetches(context.Background()).NumRecords()
	}
}

func TestOrdersAreReadInTheirOwnRackAndElsewhereOnceItIsDown(t *testing.T) {
	cluster := start(t, "--racks", "a,b,c", "--topic", "orders:3:3", "--set",
		"replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector")
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(cluster.BootstrapServers, ",")...),
		kgo.ClientID("reader"), kgo.Rack("b"),
		kgo.DefaultProduceTopic("orders"), kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.RecheckPreferredReplicaInterval(time.Second), // how long it stays with a follower that is gone: 30 minutes unless set
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	produce(t, client, 30)
	consume(client, 30)
	cluster.post(t, "/assertions", `{"assert": "rack_local", "client_id": "reader", "api": "Fetch"}`)

	cluster.post(t, "/racks/b/stop", "")
	produce(t, client, 30)
	consume(client, 30)

	cluster.post(t, "/shutdown", "")
	if err := cluster.command.Wait(); err != nil {
		t.Fatal(err)
	}
}
