/** Forms: what is typed, how it is shown, read, and told to be wrong, and values as their reader writes them. */
export { formMeanwhile, marksOf, touchedIn } from './form-marks.ts'
export {
  dayText,
  inputText,
  instantOf,
  type InputKind,
  keptFormat,
  numberText,
  plainNumber,
  type Reader,
  type TypedField,
} from './reader.ts'
export { fieldsOf } from './schema-fields.ts'
export { givenIn, mostRows, type ShownForm, shownForm, type ShownInput, withoutBlanks } from './typed-form.ts'
