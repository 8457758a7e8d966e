// What the actors of Node share: orders in by lines, answers out; see tests/interop/matrix/__init__.py.
'use strict'

const readline = require('node:readline')

// What a consumer has read and has not been asked for, and how many partitions it has.
class Reading {
  records = []
  held = 0
  problem = null
  #waiting = []

  change(work) {
    work(this)
    this.#waiting = this.#waiting.filter((look) => !look())
  }

  fail(problem) {
    this.change(() => { this.problem = problem })
  }

  until(there) {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.problem) reject(this.problem)
        else if (there()) resolve()
        else return false
        return true
      }
      if (!look()) this.#waiting.push(look)
    })
  }

  async read(count) {
    await this.until(() => this.records.length >= count)
    return this.records.splice(0, count).join(' ')
  }
}

const given = (text) => {
  const [partition, key, value, headers] = text.split('/')
  const pairs = headers.split(',').filter(Boolean).map((pair) => pair.split('='))
  return { partition: Number(partition), key, value, headers: Object.fromEntries(pairs) }
}

const told = (partition, offset, key, value, headers) => {
  const pairs = headers.map(([name, content]) => `${name}=${content}`).join(',')
  return `${partition}/${offset}/${key}/${value}/${pairs}`
}

// Does what lines of standard input say. A client has: create, topics, configure, remove, produce, transact, open.
// What open gives has commit and close. Answers come in the order of the lines.
function serve(made) {
  const readings = {}
  let client

  const orders = {
    servers: async (addresses, clientId = 'actor') => { client = await made(addresses.split(','), clientId) },
    create: (topic, partitions) => client.create(topic, Number(partitions)),
    topics: async () => (await client.topics()).join(' '),
    configure: (topic, name, value) => client.configure(topic, name, value),
    delete: (topic) => client.remove(topic),
    produce: async (topic, compression, ...records) => (await client.produce(topic, compression, records.map(given))).join(' '),
    transact: (id, topic, end, ...records) => client.transact(id, topic, end === 'commit', records.map(given)),
    open: async (name, topic, group, ...settings) => {
      const into = new Reading()
      const options = Object.fromEntries(settings.map((setting) => setting.split('=')))
      const consumer = client.open(topic, group, options, into)
      consumer.catch((problem) => into.fail(problem))
      readings[name] = { into, consumer }
    },
    holds: (name, count) => readings[name].into.until(() => readings[name].into.held === Number(count)),
    read: (name, count) => readings[name].into.read(Number(count)),
    commit: async (name) => (await readings[name].consumer).commit(),
    close: async (name) => (await readings[name].consumer).close(),
  }

  const answered = async (line) => {
    const [order, ...words] = line.trim().split(/\s+/)
    try {
      console.log(`ok ${(await orders[order](...words)) ?? ''}`.trim())
    } catch (problem) {
      const reasons = (problem.errors ?? []).map((one) => one.message)
      console.log(`error ${problem.name} ${[problem.message, ...reasons].join('; ')}`.replaceAll('\n', ' '))
    }
  }
  let turn = Promise.resolve()
  readline.createInterface({ input: process.stdin })
    .on('line', (line) => { turn = turn.then(() => answered(line)) })
    .on('close', () => process.exit(0))
}

module.exports = { serve, told }
