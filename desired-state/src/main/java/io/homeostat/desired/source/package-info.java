/** Where declarations come from: files, and manifests of packages; and which source wins. */
@NullMarked
package io.homeostat.desired.source;

import org.jspecify.annotations.NullMarked;
