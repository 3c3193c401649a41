/** The stream to a control plane: connecting, identifying the agent, sending until acknowledged, and receiving. */
@NullMarked
package io.homeostat.desired.channel;

import org.jspecify.annotations.NullMarked;
