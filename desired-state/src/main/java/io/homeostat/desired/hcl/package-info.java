/** Driver configurations: what is declared becomes the bytes that a Nomad driver wants, by the schema that it answers with. */
@NullMarked
package io.homeostat.desired.hcl;

import org.jspecify.annotations.NullMarked;
