// segmentio/kafka-go. It has neither transactions nor racks.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

var ctx = context.Background()

type segment struct {
	servers  []string
	clientID string
}

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

func (s *segment) client() *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(s.servers...), Transport: &kafka.Transport{ClientID: s.clientID}}
}

func (s *segment) create(topic string, partitions int) error {
	config := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 3}
	answer, err := s.client().CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (s *segment) topics() (names []string, err error) {
	answer, err := s.client().Metadata(ctx, &kafka.MetadataRequest{})
	if err == nil {
		for _, topic := range answer.Topics {
			names = append(names, topic.Name)
		}
	}
	return
}

func (s *segment) configure(topic, name, value string) (string, error) {
	config := kafka.IncrementalAlterConfigsRequestConfig{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet}
	resource := kafka.IncrementalAlterConfigsRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, Configs: []kafka.IncrementalAlterConfigsRequestConfig{config},
	}
	changed, err := s.client().IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{resource},
	})
	if err != nil {
		return "", err
	}
	if err := changed.Resources[0].Error; err != nil {
		return "", err
	}
	found, err := s.client().DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{name}},
	}})
	if err != nil {
		return "", err
	}
	return found.Resources[0].ConfigEntries[0].ConfigValue, found.Resources[0].Error
}

func (s *segment) remove(topic string) error {
	answer, err := s.client().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (s *segment) produce(topic, compression string, records []record) ([]string, error) {
	var messages []kafka.Message
	for _, one := range records {
		message := kafka.Message{Partition: one.partition, Key: []byte(one.key), Value: []byte(one.value)}
		for _, header := range one.headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header[0], Value: []byte(header[1])})
		}
		messages = append(messages, message)
	}
	// Completion is called by a goroutine of each partition.
	var lock sync.Mutex
	places := map[string]string{}
	writer := &kafka.Writer{
		Addr: kafka.TCP(s.servers...), Topic: topic, RequiredAcks: kafka.RequireAll, Compression: codecs[compression],
		BatchTimeout: 5 * time.Millisecond, Transport: &kafka.Transport{ClientID: s.clientID},
		Balancer: kafka.BalancerFunc(func(message kafka.Message, _ ...int) int { return message.Partition }),
		Completion: func(messages []kafka.Message, err error) {
			lock.Lock()
			defer lock.Unlock()
			for _, message := range messages {
				places[string(message.Value)] = fmt.Sprintf("%d/%d", message.Partition, message.Offset)
			}
		},
	}
	if err := writer.WriteMessages(ctx, messages...); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	var found []string
	for _, one := range records {
		found = append(found, places[one.value])
	}
	return found, nil
}

func (s *segment) transact(string, string, bool, []record) error {
	return errors.New("has no transactions")
}

type segmentConsumer struct {
	servers    []string
	dialer     *kafka.Dialer
	topic      string
	group      *kafka.ConsumerGroup
	into       *reading
	over       context.Context
	stop       context.CancelFunc
	ended      chan struct{}
	generation *kafka.Generation
	next       map[int]int64
}

func (s *segment) open(topic, group string, _ map[string]string, into *reading) (consumer, error) {
	dialer := &kafka.Dialer{ClientID: s.clientID, Timeout: 10 * time.Second}
	member, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: s.servers, Dialer: dialer, Topics: []string{topic}, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: 200 * time.Millisecond, JoinGroupBackoff: 100 * time.Millisecond,
		SessionTimeout: time.Minute, RebalanceTimeout: time.Minute, // a busy machine is slow
	})
	if err != nil {
		return nil, err
	}
	over, stop := context.WithCancel(ctx)
	opened := &segmentConsumer{
		servers: s.servers, dialer: dialer, topic: topic, group: member, into: into, over: over, stop: stop,
		ended: make(chan struct{}), next: map[int]int64{},
	}
	go opened.run()
	return opened, nil
}

func (c *segmentConsumer) run() {
	defer close(c.ended)
	for c.over.Err() == nil {
		generation, err := c.group.Next(c.over)
		if err != nil {
			continue // it joins anew
		}
		assigned := generation.Assignments[c.topic]
		c.into.change(func() { c.generation, c.next, c.into.held = generation, map[int]int64{}, len(assigned) })
		for _, partition := range assigned {
			partition := partition // Go before 1.22 has one for all turns
			generation.Start(func(over context.Context) { c.readOn(over, partition) })
		}
	}
}

func (c *segmentConsumer) readOn(over context.Context, partition kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: c.servers, Dialer: c.dialer, Topic: c.topic, Partition: partition.ID, MaxWait: 100 * time.Millisecond,
	})
	defer reader.Close()
	_ = reader.SetOffset(partition.Offset)
	for over.Err() == nil {
		message, err := reader.ReadMessage(over)
		if err != nil {
			continue
		}
		var headers []string
		for _, header := range message.Headers {
			headers = append(headers, header.Key+"="+string(header.Value))
		}
		text := told(message.Partition, message.Offset, message.Key, message.Value, headers)
		c.into.change(func() {
			c.next[message.Partition] = message.Offset + 1
			c.into.records = append(c.into.records, text)
		})
	}
}

func (c *segmentConsumer) commit() error {
	c.into.lock.Lock()
	next := map[int]int64{}
	for partition, offset := range c.next {
		next[partition] = offset
	}
	generation := c.generation
	c.into.lock.Unlock()
	return generation.CommitOffsets(map[string]map[int]int64{c.topic: next})
}

func (c *segmentConsumer) close() error {
	err := c.group.Close()
	c.stop()
	<-c.ended
	return err
}

func main() {
	serve(func(servers []string, clientID string) library { return &segment{servers, clientID} })
}
