/** The connection to a cluster of etcd. */
@NullMarked
package io.homeostat.desired.etcd;

import org.jspecify.annotations.NullMarked;
