/** What of declarations is secret, and how it stays out of texts that leave this machine. */
@NullMarked
package io.homeostat.reconcile.secrets;

import org.jspecify.annotations.NullMarked;
