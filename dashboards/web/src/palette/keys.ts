/** The shortcut that opens the palette. */
export const OWN_KEYS = "mod+k";
