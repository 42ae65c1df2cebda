package archive

// noFollow has no effect on Windows: the file is checked before it is opened.
const noFollow = 0
