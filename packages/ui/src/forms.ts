/** Forms: what is typed, how it is shown, read, and told to be wrong, and values as their reader writes them. */
export * from './form-marks.ts'
export * from './reader.ts'
export * from './schema-fields.ts'
export * from './typed-form.ts'
