/* SPDX-License-Identifier: GPL-2.0 */
#define SHARE(window) ((window) * 5 / 6)
