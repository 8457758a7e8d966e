// kafkajs; snappy is of kafkajs-snappy, and it leaves lz4 and zstd to packages in C.
'use strict'

const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const { serve, told } = require('./orders')

CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')

const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }
const QUICK = { initialRetryTime: 50, retries: 20 }
const PATIENT = { connectionTimeout: 60_000, authenticationTimeout: 60_000 } // as a busy machine may take a second and more

class Client {
  #transactional = {}

  constructor(brokers, clientId) {
    this.kafka = new Kafka({ brokers, clientId, logLevel: logLevel.NOTHING, retry: QUICK, ...PATIENT })
  }

  async #admin(work) {
    const admin = this.kafka.admin()
    await admin.connect()
    try {
      return await work(admin)
    } finally {
      await admin.disconnect()
    }
  }

  create(topic, partitions) {
    const topics = [{ topic, numPartitions: partitions, replicationFactor: 3 }]
    return this.#admin(async (admin) => { await admin.createTopics({ topics, waitForLeaders: true }) })
  }

  topics() {
    return this.#admin((admin) => admin.listTopics())
  }

  configure(topic, name, value) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
    return this.#admin(async (admin) => {
      await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name, value }] }] })
      const found = await admin.describeConfigs({ resources: [{ ...resource, configNames: [name] }], includeSynonyms: false })
      return found.resources[0].configEntries[0].configValue
    })
  }

  remove(topic) {
    return this.#admin((admin) => admin.deleteTopics({ topics: [topic] }))
  }

  async #send(producer, topic, records, compression) {
    const answers = await producer.send({ topic, acks: -1, compression, messages: records })
    const next = Object.fromEntries(answers.map((one) => [one.partition, Number(one.baseOffset)]))
    return records.map(({ partition }) => `${partition}/${next[partition]++}`)
  }

  async produce(topic, compression, records) {
    const producer = this.kafka.producer()
    await producer.connect()
    try {
      return await this.#send(producer, topic, records, CODECS[compression])
    } finally {
      await producer.disconnect()
    }
  }

  async transact(id, topic, commits, records) {
    let producer = this.#transactional[id]
    if (!producer) {
      producer = this.#transactional[id] = this.kafka.producer({ transactionalId: id, idempotent: true, maxInFlightRequests: 1 })
      await producer.connect()
    }
    const transaction = await producer.transaction()
    await this.#send(transaction, topic, records)
    await (commits ? transaction.commit() : transaction.abort())
  }

  async open(topic, groupId, settings, into) {
    const consumer = this.kafka.consumer({
      groupId, rackId: settings.rack ?? '', sessionTimeout: 60_000, heartbeatInterval: 200, maxWaitTimeInMs: 200, metadataMaxAge: 2000,
      readUncommitted: settings.isolation !== 'read_committed',
    })
    const next = new Map()
    let assigned = []
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      assigned = payload.memberAssignment[topic] ?? []
      into.change(() => { into.held = assigned.length })
      next.clear()
    })
    consumer.on(consumer.events.REBALANCING, () => into.change(() => { into.held = 0 }))
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (!assigned.includes(partition)) return // of a fetch that was on its way when the group rebalanced
        const headers = Object.entries(message.headers ?? {})
        next.set(partition, String(Number(message.offset) + 1))
        into.change(() => into.records.push(told(partition, message.offset, message.key, message.value, headers)))
      },
    })
    const commit = () => consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset })))
    return { commit, close: () => consumer.disconnect() }
  }
}

serve((servers, clientId) => new Client(servers, clientId))
