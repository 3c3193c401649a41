@NullMarked
package io.homeostat.desired.grpc;

import org.jspecify.annotations.NullMarked;
