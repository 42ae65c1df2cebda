package archive

// noFollow is nothing on Windows: what is there is looked at before it is opened.
const noFollow = 0
