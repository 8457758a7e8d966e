// franz-go.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var ctx = context.Background()

type franz struct {
	options       []kgo.Opt
	transactional map[string]*kgo.Client
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func (f *franz) client(more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(more, f.options...)...)
}

func (f *franz) admin(work func(*kadm.Client) error) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	return work(kadm.NewClient(client))
}

func (f *franz) create(topic string, partitions int) error {
	return f.admin(func(admin *kadm.Client) error {
		_, err := admin.CreateTopic(ctx, int32(partitions), 3, nil, topic)
		return err
	})
}

func (f *franz) topics() (names []string, err error) {
	err = f.admin(func(admin *kadm.Client) error {
		found, err := admin.ListTopics(ctx)
		names = found.Names()
		return err
	})
	return
}

func (f *franz) configure(topic, name, value string) (read string, err error) {
	err = f.admin(func(admin *kadm.Client) error {
		answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
		if err != nil {
			return err
		}
		for _, one := range answers {
			if one.Err != nil {
				return one.Err
			}
		}
		found, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		for _, config := range found[0].Configs {
			if config.Key == name {
				read = config.MaybeValue()
			}
		}
		return found[0].Err
	})
	return
}

func (f *franz) remove(topic string) error {
	return f.admin(func(admin *kadm.Client) error {
		answer, err := admin.DeleteTopic(ctx, topic)
		if err == nil {
			err = answer.Err
		}
		return err
	})
}

func send(client *kgo.Client, topic string, records []record) (places []string, err error) {
	var sent []*kgo.Record
	for _, one := range records {
		record := &kgo.Record{Topic: topic, Partition: int32(one.partition), Key: []byte(one.key), Value: []byte(one.value)}
		for _, header := range one.headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
		}
		sent = append(sent, record)
	}
	if err = client.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		return
	}
	for _, record := range sent {
		places = append(places, fmt.Sprintf("%d/%d", record.Partition, record.Offset))
	}
	return
}

func (f *franz) produce(topic, compression string, records []record) ([]string, error) {
	client, err := f.client(kgo.ProducerBatchCompression(codecs[compression]), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return send(client, topic, records)
}

func (f *franz) transact(id, topic string, commits bool, records []record) error {
	client := f.transactional[id]
	if client == nil {
		var err error
		if client, err = f.client(kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
			return err
		}
		f.transactional[id] = client
	}
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if _, err := send(client, topic, records); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TransactionEndTry(commits))
}

type franzConsumer struct {
	client  *kgo.Client
	isShare bool
}

func (f *franz) open(topic, group string, settings map[string]string, into *reading) (consumer, error) {
	added := func(by int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			into.change(func() { into.held += by * len(partitions[topic]) })
		}
	}
	options := []kgo.Opt{kgo.ConsumeTopics(topic), kgo.Rack(settings["rack"])}
	isShare := settings["protocol"] == "share"
	if isShare {
		options = append(options, kgo.ShareGroup(group))
	} else {
		options = append(options, kgo.ConsumerGroup(group), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.HeartbeatInterval(200*time.Millisecond), kgo.OnPartitionsAssigned(added(1)), kgo.OnPartitionsRevoked(added(-1)),
			kgo.OnPartitionsLost(added(-1)))
	}
	if settings["isolation"] == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if settings["protocol"] == "consumer" {
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	client, err := f.client(options...)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			fetches := client.PollFetches(ctx)
			if fetches.IsClientClosed() {
				return
			}
			var seen []string
			fetches.EachRecord(func(record *kgo.Record) {
				var headers []string
				for _, header := range record.Headers {
					headers = append(headers, header.Key+"="+string(header.Value))
				}
				if isShare {
					record.Ack(kgo.AckAccept) // a commit may come before the next poll, which would do it else
				}
				seen = append(seen, told(int(record.Partition), record.Offset, record.Key, record.Value, headers))
			})
			into.change(func() { into.records = append(into.records, seen...) })
		}
	}()
	return &franzConsumer{client, isShare}, nil
}

func (c *franzConsumer) commit() error {
	if c.isShare {
		return c.client.FlushAcks(ctx)
	}
	return c.client.CommitUncommittedOffsets(ctx)
}

func (c *franzConsumer) close() error {
	c.client.Close()
	return nil
}

func main() {
	serve(func(servers []string, clientID string) library {
		options := []kgo.Opt{kgo.SeedBrokers(servers...), kgo.ClientID(clientID), kgo.MetadataMinAge(50 * time.Millisecond)}
		return &franz{options, map[string]*kgo.Client{}}
	})
}
