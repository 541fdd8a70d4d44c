/* Web-like flows: fetches over new connections, with pauses between them; the receiver is TCP's. */
#ifndef LONGHAUL_WEB_H
#define LONGHAUL_WEB_H

void *web_send_thread(void *flow);

#endif
