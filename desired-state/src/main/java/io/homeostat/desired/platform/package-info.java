/** What the program stands on: its directories, which instance this machine is, the metadata server, and gRPC's transport. */
@NullMarked
package io.homeostat.desired.platform;

import org.jspecify.annotations.NullMarked;
