/** What has to be remembered because it cannot be observed: declarations, instances, histories, events and pauses. */
@NullMarked
package io.homeostat.desired.state;

import org.jspecify.annotations.NullMarked;
