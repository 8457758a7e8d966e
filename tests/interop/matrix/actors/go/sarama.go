// sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

type ibm struct {
	servers       []string
	clientID      string
	transactional map[string]sarama.SyncProducer
}

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func (s *ibm) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = s.clientID
	config.Metadata.Retry.Backoff = 50 * time.Millisecond
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	return config
}

func (s *ibm) admin(work func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin(s.servers, s.config())
	if err != nil {
		return err
	}
	defer admin.Close()
	return work(admin)
}

func (s *ibm) create(topic string, partitions int) error {
	return s.admin(func(admin sarama.ClusterAdmin) error {
		return admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 3}, false)
	})
}

func (s *ibm) topics() (names []string, err error) {
	err = s.admin(func(admin sarama.ClusterAdmin) error {
		found, err := admin.ListTopics()
		for name := range found {
			names = append(names, name)
		}
		return err
	})
	return
}

func (s *ibm) configure(topic, name, value string) (read string, err error) {
	err = s.admin(func(admin sarama.ClusterAdmin) error {
		set := map[string]sarama.IncrementalAlterConfigsEntry{name: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}}
		if err := admin.IncrementalAlterConfig(sarama.TopicResource, topic, set, false); err != nil {
			return err
		}
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{name}})
		for _, entry := range entries {
			read = entry.Value
		}
		return err
	})
	return
}

func (s *ibm) remove(topic string) error {
	return s.admin(func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(topic) })
}

func send(producer sarama.SyncProducer, topic string, records []record) (places []string, err error) {
	var sent []*sarama.ProducerMessage
	for _, one := range records {
		message := &sarama.ProducerMessage{Topic: topic, Partition: int32(one.partition), Key: sarama.StringEncoder(one.key), Value: sarama.StringEncoder(one.value)}
		for _, header := range one.headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header[0]), Value: []byte(header[1])})
		}
		sent = append(sent, message)
	}
	if err = producer.SendMessages(sent); err != nil {
		return
	}
	for _, message := range sent {
		places = append(places, fmt.Sprintf("%d/%d", message.Partition, message.Offset))
	}
	return
}

func (s *ibm) produce(topic, compression string, records []record) ([]string, error) {
	config := s.config()
	config.Producer.Compression = codecs[compression]
	producer, err := sarama.NewSyncProducer(s.servers, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	return send(producer, topic, records)
}

func (s *ibm) transact(id, topic string, commits bool, records []record) error {
	producer := s.transactional[id]
	if producer == nil {
		config := s.config()
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
		config.Producer.Transaction.ID = id
		var err error
		if producer, err = sarama.NewSyncProducer(s.servers, config); err != nil {
			return err
		}
		s.transactional[id] = producer
	}
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if _, err := send(producer, topic, records); err != nil {
		return err
	}
	if commits {
		return producer.CommitTxn()
	}
	return producer.AbortTxn()
}

type saramaConsumer struct {
	group sarama.ConsumerGroup
	into  *reading
	topic string
	over  context.Context
	stop  context.CancelFunc
	ended chan struct{}
	// of the present generation
	session sarama.ConsumerGroupSession
}

func (c *saramaConsumer) Setup(session sarama.ConsumerGroupSession) error {
	c.into.change(func() { c.session, c.into.held = session, len(session.Claims()[c.topic]) })
	return nil
}

func (c *saramaConsumer) Cleanup(sarama.ConsumerGroupSession) error {
	c.into.change(func() { c.into.held = 0 })
	return nil
}

func (c *saramaConsumer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, there := <-claim.Messages():
			if !there {
				return nil
			}
			var headers []string
			for _, header := range message.Headers {
				headers = append(headers, string(header.Key)+"="+string(header.Value))
			}
			text := told(int(message.Partition), message.Offset, message.Key, message.Value, headers)
			c.into.change(func() {
				session.MarkMessage(message, "")
				c.into.records = append(c.into.records, text)
			})
		case <-session.Context().Done():
			return nil
		}
	}
}

func (c *saramaConsumer) run() {
	defer close(c.ended)
	for c.over.Err() == nil {
		if err := c.group.Consume(c.over, []string{c.topic}, c); isAnswer(err) && c.over.Err() == nil {
			c.into.change(func() { c.into.problem = err })
			return
		}
	}
}

// Whether an error is what a broker has answered. The others come from connections that end; then Consume is to be
// called again, and a group that cannot be left is left by time.
func isAnswer(err error) bool {
	var answer sarama.KError
	return errors.As(err, &answer)
}

func (s *ibm) open(topic, group string, settings map[string]string, into *reading) (consumer, error) {
	config := s.config()
	config.RackID = settings["rack"]
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Group.Session.Timeout = time.Minute // a busy machine may be silent for a while
	if settings["isolation"] == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	member, err := sarama.NewConsumerGroup(s.servers, group, config)
	if err != nil {
		return nil, err
	}
	over, stop := context.WithCancel(context.Background())
	opened := &saramaConsumer{group: member, into: into, topic: topic, over: over, stop: stop, ended: make(chan struct{})}
	go opened.run()
	return opened, nil
}

func (c *saramaConsumer) commit() error {
	c.into.lock.Lock()
	session := c.session
	c.into.lock.Unlock()
	session.Commit()
	return nil
}

func (c *saramaConsumer) close() error {
	c.stop()
	<-c.ended
	if err := c.group.Close(); isAnswer(err) {
		return err
	}
	return nil
}

func main() {
	serve(func(servers []string, clientID string) library {
		return &ibm{servers, clientID, map[string]sarama.SyncProducer{}}
	})
}
