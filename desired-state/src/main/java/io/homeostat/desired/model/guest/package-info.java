/** What a declaration says of a guest: where its agent is, and of what a sandbox and its containers are made. */
@NullMarked
package io.homeostat.desired.model.guest;

import org.jspecify.annotations.NullMarked;
