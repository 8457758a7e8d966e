// @platformatic/kafka.
'use strict'

const { serve, told } = require('./orders')

const PATIENT = { connectTimeout: 60_000, timeout: 60_000, requestTimeout: 60_000 } // as a busy machine is slow

class Client {
  #transactional = {}

  constructor(kafka, bootstrapBrokers, clientId) {
    this.kafka = kafka
    this.base = { bootstrapBrokers, clientId, retryDelay: 50, retries: 20, metadataMaxAge: 2000, ...PATIENT }
  }

  async #admin(work) {
    const admin = new this.kafka.Admin(this.base)
    try {
      return await work(admin)
    } finally {
      await admin.close()
    }
  }

  create(topic, partitions) {
    return this.#admin(async (admin) => { await admin.createTopics({ topics: [topic], partitions, replicas: 3 }) })
  }

  topics() {
    return this.#admin((admin) => admin.listTopics())
  }

  configure(topic, name, value) {
    const { ConfigResourceTypes, IncrementalAlterConfigOperationTypes } = this.kafka
    const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic }
    const config = { name, configOperation: IncrementalAlterConfigOperationTypes.SET, value }
    return this.#admin(async (admin) => {
      await admin.incrementalAlterConfigs({ resources: [{ ...resource, configs: [config] }] })
      const found = await admin.describeConfigs({ resources: [{ ...resource, configurationKeys: [name] }] })
      return found[0].configs[0].value
    })
  }

  remove(topic) {
    return this.#admin((admin) => admin.deleteTopics({ topics: [topic] }))
  }

  #producer(more) {
    return new this.kafka.Producer({ ...this.base, serializers: this.kafka.stringSerializers, ...more })
  }

  async #send(sender, topic, records, more) {
    const { offsets } = await sender.send({ messages: records.map((record) => ({ topic, ...record })), ...more })
    const next = Object.fromEntries(offsets.map((one) => [one.partition, Number(one.offset)]))
    return records.map(({ partition }) => `${partition}/${next[partition]++}`)
  }

  async produce(topic, compression, records) {
    const producer = this.#producer({ compression })
    try {
      return await this.#send(producer, topic, records)
    } finally {
      await producer.close()
    }
  }

  async transact(id, topic, commits, records) {
    const producer = this.#transactional[id] ??= this.#producer({ transactionalId: id, idempotent: true })
    const transaction = await producer.beginTransaction()
    await this.#send(transaction, topic, records)
    await (commits ? transaction.commit() : transaction.abort())
  }

  async open(topic, groupId, settings, into) {
    const { Consumer, FetchIsolationLevels, stringDeserializers } = this.kafka
    const isNew = settings.protocol === 'consumer'
    const consumer = new Consumer({
      ...this.base, groupId, deserializers: stringDeserializers, autocommit: false, maxWaitTime: 200,
      isolationLevel: FetchIsolationLevels[settings.isolation === 'read_committed' ? 'READ_COMMITTED' : 'READ_UNCOMMITTED'],
      ...(settings.rack && { clientRack: settings.rack }),
      ...(isNew ? { groupProtocol: 'consumer' } : { heartbeatInterval: 200, sessionTimeout: 60_000, rebalanceTimeout: 60_000 }),
    })
    const held = () => (consumer.assignments ?? []).filter((one) => one.topic === topic).flatMap((one) => one.partitions)
    const next = new Map()
    const stream = await consumer.consume({ topics: [topic], mode: 'committed', fallbackMode: 'earliest' })
    stream.on('error', (problem) => into.fail(problem))
    stream.on('data', (message) => {
      if (!held().includes(message.partition)) return // it goes on with fetches of partitions that it has lost
      const headers = [...message.headers]
      next.set(message.partition, message.offset)
      into.change(() => into.records.push(told(message.partition, message.offset, message.key, message.value, headers)))
    })
    const looking = setInterval(() => into.change(() => { into.held = held().length }), 50)
    const commit = () => {
      const mine = [...next].filter(([partition]) => held().includes(partition)) // others may be further by now
      const offsets = mine.map(([partition, offset]) => ({ topic, partition, offset: offset + 1n, leaderEpoch: -1 }))
      return consumer.commit({ offsets })
    }
    const close = async () => {
      clearInterval(looking)
      await stream.close()
      await consumer.close(true)
    }
    return { commit, close }
  }
}

serve(async (servers, clientId) => new Client(await import('@platformatic/kafka'), servers, clientId))
