/** The host's side of HashiCorp's go-plugin over gRPC: handshake, connection, output, end. Knows nothing of what a plugin does. */
@NullMarked
package io.homeostat.observe.goplugin;

import org.jspecify.annotations.NullMarked;
