// Write recipes with hyparquet-writer: `write_hyparquet.mjs FOLDER`; WRITER_PACKAGES is the folder of its packages.
// Each `N.json` becomes `N.parquet`, or `N.txt` with the reason; as given_recipes.py.
import { existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const entry = join(process.env.WRITER_PACKAGES, 'node_modules', 'hyparquet-writer', 'src', 'index.js')
const { parquetWriteBuffer } = await import(pathToFileURL(entry))

const PHYSICAL = { bool: 'BOOLEAN', float: 'FLOAT', double: 'DOUBLE', string: 'BYTE_ARRAY', binary: 'BYTE_ARRAY' }
const PER_MILLISECOND = { s: 0.001, ms: 1, us: 1000, ns: 1000000 }

function element(column) {
  const { name, type } = column
  const optional = { name, repetition_type: 'OPTIONAL' }
  if (type === 'decimal' && column.precision <= 9) return { ...optional, type: 'INT32', ...digits(column) }
  if (type === 'decimal' && column.precision <= 18) return { ...optional, type: 'INT64', ...digits(column) }
  if (type === 'date') return { ...optional, type: 'INT32', converted_type: 'DATE' }
  if (type === 'timestamp') return { ...optional, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' }
  if (type === 'string') return { ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' }
  if (PHYSICAL[type]) return { ...optional, type: PHYSICAL[type] }
  const [, sign, bits] = /^(u?)int(\d+)$/.exec(type)
  return { ...optional, type: bits === '64' ? 'INT64' : 'INT32', converted_type: `${sign ? 'U' : ''}INT_${bits}` }
}

function digits({ precision, scale }) {
  return { converted_type: 'DECIMAL', precision, scale }
}

function convert(value, { type, unit }) {
  if (value === null) return undefined
  if (type === 'decimal') return Number(value)
  if (type === 'date') return new Date(value * 86400000)
  if (type === 'timestamp') return new Date(Math.floor(value / PER_MILLISECOND[unit]))
  if (type === 'binary') return new Uint8Array(Buffer.from(value, 'hex'))
  if (type === 'float' || type === 'double') return { nan: NaN, inf: Infinity, '-inf': -Infinity }[value] ?? Number(value)
  return type.endsWith('int64') ? BigInt(value) : value
}

function write(recipe) {
  const left_out = column => ['struct', 'fixed'].includes(column.type) || column.precision > 18
  const columns = recipe.columns.filter(column => !left_out(column))
  const columnData = columns.map(column => ({
    name: column.name,
    data: column.values.map(value => convert(value, column)),
    nullable: true,
    columnIndex: recipe.options.page_index,
  }))
  const root = { name: 'root', num_children: columns.length }
  return parquetWriteBuffer({
    columnData,
    schema: [root, ...columns.map(element)],
    statistics: recipe.options.statistics,
    rowGroupSize: recipe.groups.length ? recipe.groups : 1000,
    ...recipe.options.page_bytes ? { pageSize: recipe.options.page_bytes } : {},
  })
}

const folder = process.argv[2]
for (const name of readdirSync(folder).filter(name => name.endsWith('.json')).sort()) {
  const stem = join(folder, name.slice(0, -'.json'.length))
  if (existsSync(`${stem}.parquet`) || existsSync(`${stem}.txt`)) continue
  writeFileSync(`${stem}.txt`, 'the writer ended the process')
  try {
    // JSON.parse rounds integers beyond 2**53; the truth is what the file stores.
    const buffer = write(JSON.parse(readFileSync(`${stem}.json`, 'utf-8')))
    writeFileSync(`${stem}.parquet`, new Uint8Array(buffer))
    unlinkSync(`${stem}.txt`)
  } catch (error) {
    writeFileSync(`${stem}.txt`, `${error}`)
  }
}
